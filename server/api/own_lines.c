/* The hottest lines of the target's own code, and the hottest functions. */
#include "sampler/profile/views/own_lines.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/report/report_source.h"
#include "server/report/summary_rows.h"
#include "server/sessions/sessions.h"
#include "server/wire/measure.h"
#include "server/wire/own_code.h"

enum { USUAL_LINES = 10 };

/* With what their samples stand for, of another measure than time. */
static enum err_code write_functions(const struct session_request *asked, struct json *json,
                                     size_t most, struct err *err)
{
    const struct report_source source = { .snapshot = &asked->snapshot,
                                          .query = &asked->query.view };
    struct view view;
    struct summary_rows functions = { .count = 0 };
    enum err_code rc = view_init(&view, source.snapshot, source.query, err);
    if (rc)
        return rc;
    rc = summary_find_functions(&source, source.query,
                                most < SUMMARY_MAX_ROWS ? most : SUMMARY_MAX_ROWS, &functions,
                                err);
    if (!rc && asked->snapshot.measure != MEASURE_TIME) {
        json_key(json, "measure");
        measure_write(json, profile_measure(&asked->snapshot, asked->snapshot.measure),
                      view.total_ns);
    }
    view_deinit(&view);
    if (rc)
        return rc;
    json_member_array(json, "functions");
    for (size_t i = 0; i < functions.count; i++) {
        const struct summary_row *const row = &functions.rows[i];
        json_object(json);
        json_member_string(json, "file", row->frame.file);
        json_member_uint(json, "line", row->frame.line > 0 ? (uint64_t)row->frame.line : 0);
        json_member_string(json, "name", row->frame.name);
        json_member_uint(json, "function", row->frame.function);
        json_member_uint(json, "samples", row->self);
        json_member_uint(json, "total_samples", row->total);
        json_end(json);
    }
    json_end(json);
    return ERR_OK;
}

static enum err_code write_lines(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    const struct query *const query = &asked->query;
    const size_t most = query->limit ? query->limit : USUAL_LINES;
    struct own_lines own;
    enum err_code rc = own_lines_init(&own, &asked->snapshot, &query->view, query->own.items,
                                      query->own.count, most, err);
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
    return write_functions(asked, json, most, err);
}

enum err_code api_get_own_lines(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    return session_request_answer(handler, QUERY_VIEW | QUERY_LIMIT | QUERY_OWN | QUERY_MEASURE,
                                  write_lines, response, err);
}
