#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "sampler/base/buffer.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/mcp/mcp.h"
#include "tests/support/test.h"

/* The API as these tests want it: what it was asked, and what it says. */
struct api {
    char asked[16384]; /* "METHOD target body\n" */
    const char *state; /* of every session */
    int status;
    bool is_examining;
};

static void say(struct response *response, const char *mime, const char *text)
{
    response_own_body(response, mime, strdup(text), strlen(text));
}

static void answer(void *context, struct request *request, struct response *response)
{
    struct api *const api = context;
    const size_t length = strlen(api->asked);
    char session[128];
    snprintf(api->asked + length, sizeof api->asked - length, "%s %s",
             method_text(request->method), request->path);
    for (size_t i = 0; i < request->query_count; i++)
        snprintf(api->asked + strlen(api->asked), sizeof api->asked - strlen(api->asked),
                 "%c%s=%s", i ? '&' : '?', request->query[i].name, request->query[i].value);
    snprintf(api->asked + strlen(api->asked), sizeof api->asked - strlen(api->asked), " %.*s\n",
             (int)request->body_bytes, request->body ? request->body : "");
    snprintf(session, sizeof session,
             "{\"id\":\"7\",\"state\":\"%s\",\"reason\":\"it is gone\"}", api->state);
    if (api->status >= 400)
        response_problem(response, api->status, "no such thing \"x\"");
    else if (request->method == METHOD_DELETE)
        response->status = 204;
    else if (strstr(request->path, "/summary") && request->query_count > 0 &&
             strcmp(request->query[0].value, "json") == 0)
        say(response, MIME_JSON,
            "{\"hot\":{\"samples\":4,\"lines\":[{\"file\":\"/a.py\",\"line\":3,\"share\":0.5,"
            "\"x\":1}],\"functions\":[]},\"idle\":{\"share\":0.25},\"waiting\":{\"causes\":[{"
            "\"cause\":\"lock\",\"samples\":1,\"peers\":[{\"peer\":\"p\",\"share\":1,\"y\":2}]},"
            "{\"cause\":\"pipe\",\"title\":\"pipe\",\"peers\":[]}]}}");
    else if (strstr(request->path, "/summary"))
        say(response, "text/markdown", "## `app.py`\n\"quoted\"\n");
    else if (strcmp(request->path, "/api/v1/processes") == 0 && api->is_examining)
        say(response, MIME_JSON, "{\"total\":0,\"examining\":2,\"processes\":[]}");
    else if (strcmp(request->path, "/api/v1/processes") == 0)
        say(response, MIME_JSON,
            "{\"host\":\"h\",\"total\":2,\"processes\":[{\"pid\":1,\"command\":[\"python3\",\"web.py\"],"
            "\"can_attach\":true},{\"pid\":2,\"command\":[\"python3\",\"job.py\"],\"can_attach\":false,"
            "\"reason\":\"r\"}]}");
    else if (strcmp(request->path, "/api/v1/sessions") == 0 && request->method == METHOD_GET)
        say(response, MIME_JSON, "{\"sessions\":[]}");
    else if (strstr(request->path, "/source"))
        say(response, MIME_JSON,
            "{\"path\":\"/a.py\",\"changed\":false,\"text\":\"one\\ntwo\\nthree\\nfour\\n\"}");
    else if (strstr(request->path, "/own-lines"))
        say(response, MIME_JSON,
            "{\"samples\":200,\"lines\":[{\"file\":\"/a.py\",\"line\":3,\"samples\":50},"
            "{\"file\":\"/b.py\",\"line\":2,\"samples\":50}]}");
    else
        say(response, MIME_JSON, session);
}

static enum err_code open_capture(void *context, const char *path, char id[MCP_ID_BYTES],
                                  struct err *err)
{
    (void)context;
    if (strcmp(path, "/night.pyro") != 0)
        return err_set(err, ERR_INVALID, "cannot read '%s'", path);
    snprintf(id, MCP_ID_BYTES, "7");
    return ERR_OK;
}

struct client {
    struct api api;
    struct buffer out;
    struct mcp *mcp;
};

static void connect_to(struct client *client)
{
    const struct mcp_host host = { &client->api, answer, open_capture };
    struct err err = { 0 };
    memset(client, 0, sizeof *client);
    client->api.state = "running";
    assert_ok(mcp_create(&host, &client->out, &client->mcp, &err), &err);
}

static void disconnect(struct client *client)
{
    mcp_destroy(client->mcp);
    buffer_deinit(&client->out);
}

/* The answers so far: each a line, and an object. */
static const char *answers(struct client *client)
{
    const char *const text = buffer_string(&client->out);
    for (const char *line = text ? text : ""; *line; line = strchr(line, '\n') + 1) {
        assert_non_null(strchr(line, '\n'));
        cJSON *const json = cJSON_ParseWithLength(line, strcspn(line, "\n"));
        assert_true(cJSON_IsObject(json));
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(json, "jsonrpc")), "2.0");
        assert_true(cJSON_HasObjectItem(json, "result") != cJSON_HasObjectItem(json, "error"));
        cJSON_Delete(json);
    }
    return text ? text : "";
}

static const char *ask(struct client *client, const char *line)
{
    buffer_clear(&client->out);
    client->api.asked[0] = '\0';
    mcp_take(client->mcp, line, strlen(line));
    mcp_take(client->mcp, "\n", 1);
    return answers(client);
}

static const char *call(struct client *client, const char *tool, const char *arguments)
{
    char line[4096];
    snprintf(
        line, sizeof line,
        "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s}}",
        tool, arguments);
    return ask(client, line);
}

static void known_versions_are_agreed_to(void **state)
{
    static const struct {
        const char *asked, *given;
    } rows[] = { { "2024-11-05", "2024-11-05" },
                 { "2025-03-26", "2025-03-26" },
                 { "2025-06-18", "2025-06-18" },
                 { "1999-01-01", "2025-" } };
    struct client client;
    (void)state;
    connect_to(&client);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[256], wanted[64];
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"%s\",\"capabilities\":{}}}",
                 rows[i].asked);
        snprintf(wanted, sizeof wanted, "\"protocolVersion\":\"%s", rows[i].given);
        assert_non_null(strstr(ask(&client, line), wanted));
    }
    disconnect(&client);
}

static void faults_have_the_codes_of_json_rpc(void **state)
{
    static const struct {
        const char *line, *wanted;
    } rows[] = {
        { "{", "\"id\":null,\"error\":{\"code\":-32700" },
        { "{} {}", "-32700" },
        { "1", "-32600" },
        { "[]", "-32600" },
        { "{}", "\"id\":null,\"error\":{\"code\":-32600" },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "-32600" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nothing\"}",
          "\"id\":1,\"error\":{\"code\":-32601" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", "-32602" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}",
          "-32602" },
    };
    struct client client;
    (void)state;
    connect_to(&client);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(ask(&client, rows[i].line), rows[i].wanted))
            fail_msg("%s: %s", rows[i].line, client.out.data);
    disconnect(&client);
}

static void arguments_are_those_of_the_tool(void **state)
{
    static const struct {
        const char *tool, *arguments, *wanted;
    } rows[] = {
        { "summary", "{}", "needs the argument \\\"session\\\"" },
        { "summary", "{\"session\":null}", "needs the argument" },
        { "summary", "{\"session\":1}", "must be a string" },
        { "summary", "{\"session\":\"1\",\"colour\":1}", "has no argument \\\"colour\\\"" },
        { "summary", "{\"session\":\"1\",\"session\":\"2\"}", "is given twice" },
        { "summary", "{\"session\":\"1\",\"format\":\"pdf\"}", "one of its choices" },
        { "summary", "[]", "must be an object" },
        { "profile", "{\"pid\":\"1\"}", "must be a number" },
        { "profile", "{\"pid\":1,\"all_threads\":1}", "must be a boolean" },
    };
    struct client client;
    (void)state;
    connect_to(&client);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const said = call(&client, rows[i].tool, rows[i].arguments);
        if (!strstr(said, "-32602") || !strstr(said, rows[i].wanted))
            fail_msg("%s %s: %s", rows[i].tool, rows[i].arguments, said);
        assert_string_equal(client.api.asked, "");
    }
    disconnect(&client);
}

static void ids_come_back_as_they_were(void **state)
{
    static const char *const ids[] = {
        "1", "-7", "9007199254740991", "\"a\\\"b\\\\\"", "\"\"", "1.5", "0"
    };
    struct client client;
    (void)state;
    connect_to(&client);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        char line[128], wanted[64];
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}",
                 ids[i]);
        snprintf(wanted, sizeof wanted, "\"id\":%s,\"result\":{}}\n", ids[i]);
        assert_non_null(strstr(ask(&client, line), wanted));
    }
    disconnect(&client);
}

static void notifications_and_answers_get_none(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_string_equal(
        ask(&client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
    assert_string_equal(ask(&client, "{\"jsonrpc\":\"2.0\",\"method\":\"what/ever\"}"), "");
    assert_string_equal(ask(&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
    assert_string_equal(ask(&client, "  \r"), "");
    disconnect(&client);
}

static void lines_come_in_any_pieces(void **state)
{
    static const char lines[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n"
                                "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]\n";
    struct client client;
    (void)state;
    connect_to(&client);
    for (size_t i = 0; i < sizeof lines - 1; i++)
        mcp_take(client.mcp, lines + i, 1);
    assert_string_equal(answers(&client), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                                          "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
    disconnect(&client);
}

static void too_long_lines_are_refused_and_the_next_one_counts(void **state)
{
    static char block[1 << 16];
    struct client client;
    (void)state;
    connect_to(&client);
    memset(block, ' ', sizeof block);
    for (int i = 0; i < 40; i++)
        mcp_take(client.mcp, block, sizeof block);
    assert_null(client.out.data);
    assert_non_null(strstr(ask(&client, ""), "-32700"));
    assert_non_null(strstr(ask(&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
                           "\"result\":{}"));
    disconnect(&client);
}

static void every_tool_has_a_schema_of_its_arguments(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    ask(&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    cJSON *const json = cJSON_Parse(client.out.data);
    const cJSON *const tools =
        cJSON_GetObjectItem(cJSON_GetObjectItem(json, "result"), "tools");
    const cJSON *tool = NULL;
    assert_true(cJSON_GetArraySize(tools) >= 8);
    cJSON_ArrayForEach(tool, tools)
    {
        const cJSON *const schema = cJSON_GetObjectItem(tool, "inputSchema");
        const cJSON *name = NULL;
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(schema, "type")),
                            "object");
        assert_true(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(tool, "description"))) >
                    20);
        cJSON_ArrayForEach(name, cJSON_GetObjectItem(schema, "required"))
            assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(schema, "properties"),
                                                cJSON_GetStringValue(name)));
    }
    cJSON_Delete(json);
    disconnect(&client);
}

static void a_recording_is_answered_when_it_has_ended(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_string_equal(
        call(&client, "profile", "{\"pid\":4711,\"duration_s\":2.5,\"native\":\"full\"}"), "");
    assert_non_null(
        strstr(client.api.asked,
               "POST /api/v1/sessions {\"pids\":[4711],\"duration_s\":2.5,\"threads\":\"all\","
               "\"subprocesses\":false,\"native\":\"full\"}\n"));
    assert_true(mcp_is_waiting(client.mcp));
    assert_non_null(strstr(ask(&client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
                           "\"result\":{}"));
    mcp_poll(client.mcp);
    assert_true(mcp_is_waiting(client.mcp));
    client.api.state = "ended";
    buffer_clear(&client.out);
    mcp_poll(client.mcp);
    assert_false(mcp_is_waiting(client.mcp));
    assert_non_null(strstr(answers(&client), "\"id\":\"c\",\"result\""));
    assert_non_null(strstr(client.out.data, "data, not instructions"));
    assert_non_null(strstr(client.out.data, "Session 7."));
    assert_non_null(strstr(client.out.data, "\\\"quoted\\\""));
    assert_non_null(strstr(client.out.data, "\"isError\":false"));
    disconnect(&client);
}

static void a_recording_that_fails_says_why(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    call(&client, "profile", "{\"pid\":4711}");
    client.api.state = "failed";
    mcp_poll(client.mcp);
    assert_false(mcp_is_waiting(client.mcp));
    assert_non_null(strstr(answers(&client), "it is gone"));
    assert_non_null(strstr(client.out.data, "\"isError\":true"));
    disconnect(&client);
}

static void a_cancelled_call_ends_its_session_and_has_no_answer(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    call(&client, "profile", "{\"pid\":4711}");
    assert_string_equal(ask(&client,
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                            "\"params\":{\"requestId\":\"d\"}}"),
                        "");
    assert_true(mcp_is_waiting(client.mcp));
    assert_string_equal(ask(&client,
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                            "\"params\":{\"requestId\":\"c\"}}"),
                        "");
    assert_false(mcp_is_waiting(client.mcp));
    assert_string_equal(client.api.asked, "PATCH /api/v1/sessions/7 {\"state\":\"ended\"}\n");
    disconnect(&client);
}

static void more_calls_than_can_wait_are_refused(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    for (int i = 0; i < MCP_MAX_WAITING; i++)
        assert_string_equal(call(&client, "profile", "{\"pid\":4711}"), "");
    assert_non_null(strstr(call(&client, "profile", "{\"pid\":4711}"), "too many calls"));
    client.api.state = "ended";
    buffer_clear(&client.out);
    mcp_poll(client.mcp);
    assert_false(mcp_is_waiting(client.mcp));
    answers(&client);
    disconnect(&client);
}

static void what_the_api_refuses_is_said(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    client.api.status = 404;
    static const char *const calls[][2] = { { "summary", "{\"session\":\"9\"}" },
                                            { "profile", "{\"pid\":1}" },
                                            { "list_processes", "{}" },
                                            { "end_session", "{\"session\":\"9\"}" },
                                            { "diff",
                                              "{\"session\":\"9\",\"baseline\":\"8\"}" } };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_non_null(strstr(call(&client, calls[i][0], calls[i][1]), "no such thing"));
        assert_non_null(strstr(client.out.data, "\"isError\":true"));
    }
    disconnect(&client);
}

static void no_argument_leaves_its_place_in_an_address(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_non_null(
        strstr(call(&client, "summary", "{\"session\":\"1/../2\"}"), "must be the id"));
    assert_string_equal(client.api.asked, "");
    call(&client, "summary",
         "{\"session\":\"1\",\"focus\":\"a&b=c#d?\\u00e9 %\",\"from\":0.5}");
    assert_string_equal(client.api.asked,
                        "GET /api/v1/sessions/1/summary?format=markdown&from=0.5&"
                        "focus=a&b=c#d?\xc3\xa9 % \n");
    disconnect(&client);
}

static void processes_are_searched_by_command_line(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_non_null(
        strstr(call(&client, "list_processes", "{\"search\":\"3 web\"}"), "python3 web.py"));
    assert_null(strstr(client.out.data, "job.py"));
    assert_non_null(strstr(call(&client, "list_processes", "{}"), "job.py"));
    disconnect(&client);
}

static void processes_are_listed_once_they_have_been_examined(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    client.api.is_examining = true;
    assert_string_equal(call(&client, "list_processes", "{\"search\":\"web\"}"), "");
    mcp_poll(client.mcp);
    assert_string_equal(answers(&client), "");
    assert_true(mcp_is_waiting(client.mcp));
    client.api.is_examining = false;
    mcp_poll(client.mcp);
    assert_non_null(strstr(answers(&client), "python3 web.py"));
    assert_null(strstr(client.out.data, "job.py"));
    assert_false(mcp_is_waiting(client.mcp));
    /* Nothing is ended for a call that is cancelled. */
    client.api.is_examining = true;
    call(&client, "list_processes", "{}");
    client.api.asked[0] = '\0';
    ask(&client,
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"c\"}}");
    assert_string_equal(client.api.asked, "");
    assert_false(mcp_is_waiting(client.mcp));
    disconnect(&client);
}

static void tools_take_what_they_name_of_an_answer(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_non_null(
        strstr(call(&client, "top_functions", "{\"session\":\"1\",\"from\":2}"),
               "{\\\"samples\\\":4,\\\"seconds\\\":null,\\\"functions\\\":[],"
               "\\\"lines_of_your_code\\\":[{\\\"file\\\":\\\"/a.py\\\",\\\"line\\\":3,"
               "\\\"share\\\":0.5}]}"));
    assert_string_equal(client.api.asked,
                        "GET /api/v1/sessions/1/summary?format=json&limit=20&from=2 \n");
    assert_non_null(strstr(
        call(&client, "waits", "{\"session\":\"1\",\"limit\":3}"),
        "{\\\"waiting_share\\\":null,\\\"idle_share\\\":0.25,\\\"causes\\\":[{\\\"cause\\\":"
        "\\\"lock\\\",\\\"title\\\":null,\\\"share\\\":null,\\\"peers\\\":[{\\\"peer\\\":"
        "\\\"p\\\",\\\"share\\\":1}]},{\\\"cause\\\":\\\"pipe\\\",\\\"title\\\":\\\"pipe\\\","
        "\\\"share\\\":null,\\\"peers\\\":[]}],\\\"idle_causes\\\":[],\\\"functions\\\":[],"
        "\\\"lines_of_your_code\\\":[]}"));
    assert_non_null(strstr(client.api.asked, "limit=3"));
    call(&client, "memory_growth", "{\"session\":\"1\",\"to\":4}");
    assert_string_equal(
        client.api.asked,
        "GET /api/v1/sessions/1/own-lines?measure=page-faults&limit=20&to=4 \n");
    assert_non_null(strstr(call(&client, "list_sessions", "{}"), "instructions.\\n\\n[]"));
    disconnect(&client);
}

static void source_has_numbers_and_shares(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    call(&client, "source_lines",
         "{\"session\":\"1\",\"function\":3,\"line\":3,\"context\":1}");
    assert_non_null(strstr(answers(&client), "              2  two\\n  25.0 %      3  three\\n"
                                             "              4  four\\n"));
    assert_null(strstr(client.out.data, "  one"));
    assert_non_null(strstr(client.api.asked, "/source?function=3 "));
    assert_non_null(
        strstr(call(&client, "source_lines", "{\"session\":\"1\",\"function\":3,\"line\":0}"),
               "isError\":true"));
    call(&client, "source_lines",
         "{\"session\":\"1\",\"function\":3,\"line\":2147483647,\"context\":1e300}");
    answers(&client);
    disconnect(&client);
}

static void captures_are_opened_by_path(void **state)
{
    struct client client;
    (void)state;
    connect_to(&client);
    assert_non_null(
        strstr(call(&client, "open_capture", "{\"path\":\"/night.pyro\"}"), "Session 7."));
    assert_non_null(
        strstr(call(&client, "open_capture", "{\"path\":\"/etc/passwd\"}"), "cannot read"));
    disconnect(&client);
}

TEST_GROUP(cmocka_unit_test(known_versions_are_agreed_to),
           cmocka_unit_test(faults_have_the_codes_of_json_rpc),
           cmocka_unit_test(arguments_are_those_of_the_tool),
           cmocka_unit_test(ids_come_back_as_they_were),
           cmocka_unit_test(notifications_and_answers_get_none),
           cmocka_unit_test(lines_come_in_any_pieces),
           cmocka_unit_test(too_long_lines_are_refused_and_the_next_one_counts),
           cmocka_unit_test(every_tool_has_a_schema_of_its_arguments),
           cmocka_unit_test(a_recording_is_answered_when_it_has_ended),
           cmocka_unit_test(a_recording_that_fails_says_why),
           cmocka_unit_test(a_cancelled_call_ends_its_session_and_has_no_answer),
           cmocka_unit_test(more_calls_than_can_wait_are_refused),
           cmocka_unit_test(what_the_api_refuses_is_said),
           cmocka_unit_test(no_argument_leaves_its_place_in_an_address),
           cmocka_unit_test(processes_are_searched_by_command_line),
           cmocka_unit_test(processes_are_listed_once_they_have_been_examined),
           cmocka_unit_test(tools_take_what_they_name_of_an_answer),
           cmocka_unit_test(source_has_numbers_and_shares),
           cmocka_unit_test(captures_are_opened_by_path))
