/* The hottest lines of the target's own code. */
#include "sampler/profile/views/own_lines.h"

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/sessions/sessions.h"
#include "server/wire/own_code.h"

enum { USUAL_LINES = 10 };

static enum err_code write_lines(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    const struct query *const query = &asked->query;
    struct own_lines own;
    const enum err_code rc =
        own_lines_init(&own, &asked->snapshot, &query->view, query->own.items, query->own.count,
                       query->limit ? query->limit : USUAL_LINES, err);
    if (rc)
        return rc;
    json_member_uint(json, "samples", own.samples);
    json_member_uint(json, "own_samples", own.own_samples);
    json_key(json, "own_code");
    own_code_write(json, &own.level);
    json_member_array(json, "lines");
    for (size_t i = 0; i < own.count; i++) {
        const struct own_line *const line = &own.lines[i];
        const struct profile_function function =
            profile_function_at(&asked->snapshot, line->function);
        json_object(json);
        json_member_string(json, "file", profile_string(&asked->snapshot, function.file));
        json_member_uint(json, "line", line->line > 0 ? (uint64_t)line->line : 0);
        json_member_string(json, "name", profile_string(&asked->snapshot, function.name));
        json_member_uint(json, "function", line->function);
        json_member_uint(json, "samples", line->samples);
        json_end(json);
    }
    json_end(json);
    own_lines_deinit(&own);
    return ERR_OK;
}

enum err_code api_get_own_lines(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT | QUERY_OWN, write_lines,
                                  response, err);
}
