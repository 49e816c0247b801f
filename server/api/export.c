#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/buffer.h"
#include "server/call.h"
#include "server/query.h"
#include "server/report/report.h"
#include "server/response.h"
#include "server/sessions.h"
#include "server/wire/session.h"

static enum err_code send(const struct report_source *source,
                          const struct report_format *format, struct response *response,
                          struct err *err)
{
    struct buffer file = { 0 };
    char name[REPORT_NAME_BYTES];
    enum err_code rc = format->write(source, &file, err);
    if (rc == ERR_OK)
        rc = response_take_buffer(response, format->mime, &file, err);
    buffer_deinit(&file);
    report_file_name(source, format, name);
    if (rc == ERR_OK)
        response_set_header(response, "Content-Disposition", "attachment; filename=\"%s\"",
                            name);
    return rc;
}

static enum err_code answer(const struct call *call, const struct query *query,
                            const struct report_format *format, struct response *response,
                            struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct session_facts facts;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(sampler_profile(session->sampler), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(session, &snapshot, &facts);
    const struct report_source source = { .snapshot = &snapshot,
                                          .query = &query->view,
                                          .session = &facts,
                                          .files = &session->files };
    rc = send(&source, format, response, err);
    profile_snapshot_release(&snapshot);
    return rc;
}

static enum err_code unknown_format(struct err *err)
{
    struct buffer names = { 0 };
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++) {
        buffer_text(&names, i > 0 ? ", " : "");
        buffer_text(&names, format->name);
    }
    const char *const text = buffer_string(&names);
    err_set(err, ERR_INVALID, "parameter \"format\" is one of %s", text ? text : "the formats");
    buffer_deinit(&names);
    return ERR_INVALID;
}

enum err_code api_get_export(const struct call *call, struct response *response,
                             struct err *err)
{
    struct query query;
    const enum err_code rc = query_read(call->request, QUERY_VIEW | QUERY_FORMAT, &query, err);
    if (rc != ERR_OK)
        return rc;
    const struct report_format *const format = report_find(query.format ? query.format : "");
    if (!format)
        return unknown_format(err);
    return answer(call, &query, format, response, err);
}

enum err_code api_get_report(const struct call *call, struct response *response,
                             struct err *err)
{
    struct query query;
    const enum err_code rc = query_read(call->request, QUERY_VIEW, &query, err);
    if (rc != ERR_OK)
        return rc;
    return answer(call, &query, report_find("flamegraph"), response, err);
}
