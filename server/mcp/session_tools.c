/* The tools that find, start, open and end what is recorded. */
#include <stdio.h>
#include <string.h>

#include "server/http/response.h"
#include "server/mcp/tool.h"
#include "server/wire/json.h"

enum { USUAL_PROCESSES = 50, USUAL_SECONDS = 10, MOST_SECONDS = 600 };

/* The words of a command line as one text, which a search can be in. */
static void join_command(const struct json_value *from, struct buffer *out)
{
    enum { MAX_COMMAND = 300 };
    for (const struct json_value *word = json_value_first(json_value_member(from, "command"));
         word && out->length < MAX_COMMAND; word = json_value_next(word))
        buffer_printf(out, "%s%.300s", out->length > 0 ? " " : "",
                      json_value_text(word) ? json_value_text(word) : "");
}

static void write_process(struct json *json, const struct json_value *row,
                          struct buffer *command)
{
    json_object(json);
    tool_copy(json, row, "pid", "pid");
    json_member_text(json, "command", buffer_string(command));
    tool_copy(json, row, "python", "python");
    tool_copy(json, row, "user", "user");
    tool_copy(json, row, "cpu_percent", "cpu_percent");
    tool_copy(json, row, "threads", "threads");
    tool_copy(json, row, "can_attach", "can_profile");
    tool_copy(json, row, "reason", "reason");
    json_end(json);
}

void tool_list_processes(struct call *call)
{
    const char *const search = call_text(call, "search");
    uint32_t left = tool_limit(call, USUAL_PROCESSES, 1000);
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    buffer_text(&target, "/api/v1/processes?limit=4096");
    const bool is_asked = call_ask_json(call, &target, &answer);
    /* At first nothing is known of any process; a slow one does not hold up the others for long. */
    const bool waits = is_asked &&
                       json_value_number(json_value_member(answer, "examining")) > 0 &&
                       call_again(call, tool_list_processes);
    if (is_asked && !waits) {
        json_init(&json, &text);
        json_object(&json);
        tool_copy(&json, answer, "host", "host");
        tool_copy(&json, answer, "total", "total");
        tool_copy(&json, answer, "examining", "not_known_yet");
        json_member_array(&json, "processes");
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "processes"));
             row && left > 0; row = json_value_next(row)) {
            struct buffer command = { 0 };
            join_command(row, &command);
            if (!search || (buffer_string(&command) && strstr(command.data, search))) {
                write_process(&json, row, &command);
                left--;
            }
            buffer_deinit(&command);
        }
        json_end(&json);
        json_end(&json);
        tool_send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

void tool_list_sessions(struct call *call)
{
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    buffer_text(&target, "/api/v1/sessions");
    if (call_ask_json(call, &target, &answer)) {
        json_init(&json, &text);
        json_array(&json);
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "sessions"));
             row; row = json_value_next(row)) {
            const struct json_value *const process = json_value_member(row, "target");
            struct buffer command = { 0 };
            join_command(process, &command);
            json_object(&json);
            tool_copy(&json, row, "id", "session");
            tool_copy(&json, row, "state", "state");
            tool_copy(&json, row, "elapsed_s", "seconds");
            tool_copy(&json, process, "pid", "pid");
            json_member_text(&json, "command", buffer_string(&command));
            json_end(&json);
            buffer_deinit(&command);
        }
        json_end(&json);
        tool_send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

/* Removes the oldest session that has ended, if there are too many.  false: the call has ended. */
static bool make_room(struct call *call)
{
    struct buffer target = { 0 };
    struct json_value *answer = NULL;
    char oldest[MCP_ID_BYTES] = "";
    size_t count = 0;
    buffer_text(&target, "/api/v1/sessions");
    bool is_asked = call_ask_json(call, &target, &answer);
    for (const struct json_value *row = json_value_first(json_value_member(answer, "sessions"));
         row; row = json_value_next(row)) {
        const char *const id = json_value_text(json_value_member(row, "id"));
        const char *const state = json_value_text(json_value_member(row, "state"));
        count++;
        if (!*oldest && id && state &&
            (strcmp(state, "ended") == 0 || strcmp(state, "failed") == 0))
            snprintf(oldest, sizeof oldest, "%s", id);
    }
    if (is_asked && count >= MCP_MAX_SESSIONS && *oldest) {
        struct response response;
        buffer_clear(&target);
        buffer_printf(&target, "/api/v1/sessions/%s", oldest);
        is_asked = call_ask(call, METHOD_DELETE, &target, NULL, &response);
        if (is_asked)
            response_deinit(&response);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
    return is_asked;
}

static void write_settings(struct json *json, const struct call *call, double seconds)
{
    static const char *const texts[] = { "native", "async", "engine" };
    json_object(json);
    json_member_array(json, "pids");
    json_number(json, call_number(call, "pid", 0));
    json_end(json);
    json_member_number(json, "duration_s", seconds);
    json_member_text(json, "threads", call_flag(call, "all_threads", true) ? "all" : "main");
    json_member_bool(json, "subprocesses", call_flag(call, "subprocesses", false));
    if (call_number(call, "rate_hz", 0) > 0) {
        json_member_number(json, "rate_hz", call_number(call, "rate_hz", 0));
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (call_text(call, texts[i])) {
            json_member_text(json, texts[i], call_text(call, texts[i]));
        }
    json_end(json);
}

static void wait_for_started(struct call *call, const struct response *response)
{
    struct json_value *session = NULL;
    const char *id = NULL;
    if (json_value_parse(response->body, response->body_bytes, &session, NULL) == ERR_OK)
        id = json_value_text(json_value_member(session, "id"));
    if (id)
        call_wait(call, id);
    else
        call_refuse(call, "the answer could not be read");
    json_value_destroy(session);
}

void tool_profile(struct call *call)
{
    const double seconds = call_number(call, "duration_s", USUAL_SECONDS);
    struct buffer target = { 0 }, body = { 0 };
    struct response response;
    struct json json;
    if (!(seconds > 0 && seconds <= MOST_SECONDS)) {
        call_refuse(call, "duration_s must be above 0 and at most %d", MOST_SECONDS);
        return;
    }
    if (!make_room(call))
        return;
    buffer_text(&target, "/api/v1/sessions");
    json_init(&json, &body);
    write_settings(&json, call, seconds);
    if (call_ask(call, METHOD_POST, &target, &body, &response)) {
        wait_for_started(call, &response);
        response_deinit(&response);
    }
    buffer_deinit(&body);
    buffer_deinit(&target);
}

void tool_end_session(struct call *call)
{
    static const char ended[] = "{\"state\":\"ended\"}";
    const char *const session = tool_session(call, "session");
    struct buffer target = { 0 }, body = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s", session);
    buffer_text(&body, ended);
    if (call_ask(call, METHOD_PATCH, &target, &body, &response)) {
        call_answer(call, "It ends now. A call that waits for it is answered with its summary.",
                    false);
        response_deinit(&response);
    }
    buffer_deinit(&body);
    buffer_deinit(&target);
}

void tool_open_capture(struct call *call)
{
    const struct mcp_host *const host = call_host(call);
    char session[MCP_ID_BYTES];
    struct err err = { 0 };
    if (!make_room(call))
        return;
    if (host->open(host->context, call_text(call, "path"), session, &err) != ERR_OK)
        call_refuse(call, "%s", err.message);
    else
        call_answer_summary(call, session);
}
