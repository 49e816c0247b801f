#include "server/api/api.h"
#include "server/api/look.h"
#include "server/buffer.h"
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

static enum err_code answer(const struct look *look, const struct report_format *format,
                            struct response *response, struct err *err)
{
    struct session_facts facts;
    session_describe(look->session, &look->snapshot, &facts);
    const struct report_source source = { .snapshot = &look->snapshot,
                                          .query = &look->query.view,
                                          .session = &facts,
                                          .files = &look->session->files };
    return send(&source, format, response, err);
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
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_VIEW | QUERY_FORMAT, err);
    if (rc != ERR_OK)
        return rc;
    const struct report_format *const format =
        report_find(look.query.format ? look.query.format : "");
    rc = format ? answer(&look, format, response, err) : unknown_format(err);
    look_end(&look);
    return rc;
}

enum err_code api_get_report(const struct call *call, struct response *response,
                             struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_VIEW, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(&look, report_find("flamegraph"), response, err);
    look_end(&look);
    return rc;
}
