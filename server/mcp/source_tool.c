#include "server/mcp/source_tool.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/utf8.h"
#include "server/http/response.h"

enum { USUAL_CONTEXT = 12, MOST_CONTEXT = 100 };

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
        !json_value_parse(response.body, response.body_bytes, &answer, NULL)) {
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

enum call_state source_tool_run(struct call *call)
{
    const char *const session = call_session(call, "session");
    const double line = call_number(call, "line", 0);
    const double wanted = call_number(call, "context", USUAL_CONTEXT);
    const double context = fmin(fmax(wanted, 0), MOST_CONTEXT);
    struct buffer target = { 0 }, text = { 0 };
    struct json_value *answer = NULL;
    if (!session)
        return CALL_ANSWERED;
    if (!(line >= 1 && line <= INT32_MAX)) {
        call_refuse(call, "line must be the number of a line, from 1 on");
        return CALL_ANSWERED;
    }
    struct shares shares = { .first = (uint32_t)fmax(1, line - context),
                             .last = (uint32_t)(line + context) };
    buffer_printf(&target, "/api/v1/sessions/%s/source?function=%.9g", session,
                  call_number(call, "function", 0));
    if (call_ask_json(call, METHOD_GET, &target, NULL, &answer)) {
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
    return CALL_ANSWERED;
}
