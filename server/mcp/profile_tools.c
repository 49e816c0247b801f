/* The tools that read a profile. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "server/http/response.h"
#include "server/mcp/tool.h"
#include "server/wire/json.h"

enum { USUAL_ROWS = 20, MOST_ROWS = 100 };
enum { USUAL_CONTEXT = 12, MOST_CONTEXT = 100 };

void tool_summary(struct call *call)
{
    const char *const session = tool_session(call, "session");
    const char *const format = call_text(call, "format");
    struct buffer target = { 0 }, text = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/summary", session);
    call_put_query(&target, "format", format ? format : "markdown");
    tool_put_selection(&target, call);
    if (call_ask(call, METHOD_GET, &target, NULL, &response)) {
        buffer_append(&text, response.body, response.body_bytes);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
        response_deinit(&response);
    }
    buffer_deinit(&text);
    buffer_deinit(&target);
}

static void copy_rows(struct json *json, const struct json_value *rows)
{
    static const char *const names[] = { "name",  "file",        "line",    "library",
                                         "share", "total_share", "function" };
    json_array(json);
    for (const struct json_value *row = json_value_first(rows); row;
         row = json_value_next(row)) {
        json_object(json);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (json_value_member(row, names[i]))
                tool_copy(json, row, names[i], names[i]);
        json_end(json);
    }
    json_end(json);
}

/* Why threads wait, with the peers. */
static void copy_causes(struct json *json, const struct json_value *causes)
{
    static const char *const names[] = { "cause", "title", "share" };
    json_array(json);
    for (const struct json_value *row = json_value_first(causes); row;
         row = json_value_next(row)) {
        json_object(json);
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            tool_copy(json, row, names[i], names[i]);
        json_key(json, "peers");
        json_array(json);
        for (const struct json_value *peer = json_value_first(json_value_member(row, "peers"));
             peer; peer = json_value_next(peer)) {
            json_object(json);
            tool_copy(json, peer, "peer", "peer");
            tool_copy(json, peer, "share", "share");
            json_end(json);
        }
        json_end(json);
        json_end(json);
    }
    json_end(json);
}

typedef void write_part(struct json *json, const struct json_value *summary);

/* Answers with what `write` takes of the summary of a session. */
static void answer_of_summary(struct call *call, write_part *write)
{
    const char *const session = tool_session(call, "session");
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    struct json json;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/summary?format=json&limit=%u", session,
                  tool_limit(call, USUAL_ROWS, MOST_ROWS));
    tool_put_selection(&target, call);
    if (call_ask_json(call, &target, &answer)) {
        json_init(&json, &text);
        json_object(&json);
        write(&json, answer);
        json_end(&json);
        tool_send(call, &json, &text);
    }
    json_value_destroy(answer);
    buffer_deinit(&target);
}

static void copy_functions_and_lines(struct json *json, const struct json_value *part)
{
    json_key(json, "functions");
    copy_rows(json, json_value_member(part, "functions"));
    json_key(json, "lines_of_your_code");
    copy_rows(json, json_value_member(part, "lines"));
}

static void write_waits(struct json *json, const struct json_value *summary)
{
    const struct json_value *const waiting = json_value_member(summary, "waiting");
    tool_copy(json, waiting, "share", "waiting_share");
    const struct json_value *const idle = json_value_member(summary, "idle");
    tool_copy(json, idle, "share", "idle_share");
    json_key(json, "causes");
    copy_causes(json, json_value_member(waiting, "causes"));
    json_key(json, "idle_causes");
    copy_causes(json, json_value_member(idle, "causes"));
    copy_functions_and_lines(json, waiting);
}

void tool_waits(struct call *call)
{
    answer_of_summary(call, write_waits);
}

static void write_top_functions(struct json *json, const struct json_value *summary)
{
    const struct json_value *const hot = json_value_member(summary, "hot");
    tool_copy(json, hot, "samples", "samples");
    tool_copy(json, hot, "seconds", "seconds");
    copy_functions_and_lines(json, hot);
}

void tool_top_functions(struct call *call)
{
    answer_of_summary(call, write_top_functions);
}

/* Shares of the lines that are shown. */
struct shares {
    uint32_t first, last;
    double of[2 * MOST_CONTEXT + 1];
};

/* Shares are optional: without an answer there are none. */
static void read_shares(struct call *call, const char *session, const char *path,
                        struct shares *shares)
{
    struct buffer target = { 0 };
    struct json_value *answer = NULL;
    struct response response;
    buffer_printf(&target,
                  "/api/v1/sessions/%s/own-lines?limit=4096"
                  "&parts=running,needs_gil,needs_processor,blocked",
                  session);
    if (call_try(call, METHOD_GET, &target, NULL, &response) &&
        json_value_parse(response.body, response.body_bytes, &answer, NULL) == ERR_OK) {
        const double all = json_value_number(json_value_member(answer, "samples"));
        for (const struct json_value *row =
                 json_value_first(json_value_member(answer, "lines"));
             row && all > 0; row = json_value_next(row)) {
            const char *const file = json_value_text(json_value_member(row, "file"));
            const double line = json_value_number(json_value_member(row, "line"));
            if (file && strcmp(file, path) == 0 && line >= shares->first &&
                line <= shares->last)
                shares->of[(uint32_t)line - shares->first] +=
                    json_value_number(json_value_member(row, "samples")) / all;
        }
    }
    json_value_destroy(answer);
    response_deinit(&response);
    buffer_deinit(&target);
}

static void put_lines(struct buffer *out, const char *text, const struct shares *shares)
{
    enum { MAX_LINE = 300 };
    uint32_t line = 1;
    for (const char *at = text; *at && line <= shares->last; line++) {
        const size_t length = strcspn(at, "\n");
        const double share = line >= shares->first ? shares->of[line - shares->first] : 0;
        if (line >= shares->first && share > 0)
            buffer_printf(out, "%6.1f %% %6u  %.*s\n", 100 * share, line,
                          (int)utf8_cut(at, length, MAX_LINE), at);
        else if (line >= shares->first)
            buffer_printf(out, "         %6u  %.*s\n", line,
                          (int)utf8_cut(at, length, MAX_LINE), at);
        at += length + (at[length] == '\n');
    }
}

void tool_source_lines(struct call *call)
{
    const char *const session = tool_session(call, "session");
    const double line = call_number(call, "line", 0);
    const double wanted = call_number(call, "context", USUAL_CONTEXT);
    const double context = fmin(fmax(wanted, 0), MOST_CONTEXT);
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    if (!session)
        return;
    if (!(line >= 1 && line <= INT32_MAX)) {
        call_refuse(call, "line must be the number of a line, from 1 on");
        return;
    }
    struct shares shares = { .first = (uint32_t)fmax(1, line - context),
                             .last = (uint32_t)(line + context) };
    buffer_printf(&target, "/api/v1/sessions/%s/source", session);
    tool_put_number(&target, call, "function");
    if (call_ask_json(call, &target, &answer)) {
        const char *const path = json_value_text(json_value_member(answer, "path"));
        const char *const source = json_value_text(json_value_member(answer, "text"));
        read_shares(call, session, path ? path : "", &shares);
        buffer_printf(
            &text,
            "%s%s%s\nShare of the time not idle in which your code is at that line, with all "
            "it calls; line; text:\n",
            path ? path : "",
            json_value_flag(json_value_member(answer, "changed"))
                ? " (changed since the recording began)"
                : "",
            json_value_flag(json_value_member(answer, "whole"))
                ? ""
                : " (a part: the capture has empty lines for the rest)");
        put_lines(&text, source ? source : "", &shares);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
    }
    json_value_destroy(answer);
    buffer_deinit(&text);
    buffer_deinit(&target);
}

void tool_diff(struct call *call)
{
    const char *const baseline = tool_session(call, "baseline");
    const char *const session = baseline ? tool_session(call, "session") : NULL;
    struct buffer target = { 0 }, text = { 0 };
    struct response response;
    if (!session)
        return;
    buffer_printf(&target, "/api/v1/sessions/%s/export?format=diff-markdown&baseline=%s",
                  session, baseline);
    tool_put_selection(&target, call);
    if (call_ask(call, METHOD_GET, &target, NULL, &response)) {
        buffer_append(&text, response.body, response.body_bytes);
        call_answer(call, buffer_string(&text) ? text.data : "", true);
        response_deinit(&response);
    }
    buffer_deinit(&text);
    buffer_deinit(&target);
}
