#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/session_request.h"
#include "server/http/response.h"
#include "server/http/spool.h"
#include "server/report/header.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/session.h"

/* What all files take. */
enum { QUERY_EXPORT = QUERY_VIEW | QUERY_RULES | QUERY_REDACT };

static enum err_code send(const struct report_source *source,
                          const struct report_format *format, struct response *response,
                          struct err *err)
{
    struct spool spool;
    struct buffer file;
    char name[REPORT_NAME_BYTES];
    spool_begin(&spool, &file);
    const enum err_code written = report_write(format, source, &file, err);
    const enum err_code rc = spool_end(&spool, &file, written, format->mime, response, err);
    report_file_name(source, format, name);
    if (rc == ERR_OK)
        response_set_header(response, "Content-Disposition", "attachment; filename=\"%s\"",
                            name);
    return rc;
}

static enum err_code write(const struct look *look, const struct profile_snapshot *snapshot,
                           const struct view_query *query, const struct report_format *format,
                           const struct report_source *baseline, struct response *response,
                           struct err *err)
{
    const struct report_selection selection = { .snapshot = &look->snapshot,
                                                .query = &look->query.view,
                                                .rules = &look->query.rules };
    struct session_facts facts;
    struct report_header header;
    session_describe(look->session, snapshot, &facts);
    struct report_source source = { .snapshot = snapshot,
                                    .query = query,
                                    .selection = &selection,
                                    .session = &facts,
                                    .settings.redacts = look->query.redacts,
                                    .files = session_files(look->session),
                                    .baseline = baseline };
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc != ERR_OK)
        return rc;
    source.header = &header;
    rc = send(&source, format, response, err);
    report_header_deinit(&header);
    return rc;
}

static enum err_code write_reshaped(const struct look *look, const struct report_format *format,
                                    const struct report_source *baseline,
                                    struct response *response, struct err *err)
{
    const struct view_query everything = { 0 };
    struct reshaped reshaped;
    enum err_code rc = reshaped_init(&reshaped, &look->snapshot, &look->query.view,
                                     &look->query.rules, RESHAPED_WINDOWS, err);
    if (rc == ERR_OK)
        rc = write(look, &reshaped.snapshot, &everything, format, baseline, response, err);
    reshaped_deinit(&reshaped);
    return rc;
}

static enum err_code answer(const struct look *look, const struct report_format *format,
                            const struct report_source *baseline, struct response *response,
                            struct err *err)
{
    if (rules_are_any(&look->query.rules))
        return write_reshaped(look, format, baseline, response, err);
    return write(look, &look->snapshot, &look->query.view, format, baseline, response, err);
}

static enum err_code write_against(const struct look *look, struct session *base,
                                   const struct profile_snapshot *snapshot,
                                   const struct report_format *format,
                                   struct response *response, struct err *err)
{
    const struct view_query everything = { 0 };
    struct session_facts facts;
    session_describe(base, snapshot, &facts);
    const struct report_selection selection = { .snapshot = snapshot,
                                                .query = &everything,
                                                .rules = &look->query.rules };
    const struct report_source baseline = { .snapshot = snapshot,
                                            .query = &everything,
                                            .selection = &selection,
                                            .session = &facts,
                                            .files = session_files(base) };
    return answer(look, format, &baseline, response, err);
}

/* Against all of another session, with its stacks as the rules make them. */
static enum err_code compare_with(const struct look *look, struct session *base,
                                  const struct report_format *format, struct response *response,
                                  struct err *err)
{
    const struct view_query everything = { 0 };
    struct profile_snapshot snapshot;
    struct reshaped reshaped = { 0 };
    const bool has_rules = rules_are_any(&look->query.rules);
    enum err_code rc = profile_snapshot(session_profile(base), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    if (has_rules)
        rc = reshaped_init(&reshaped, &snapshot, &everything, &look->query.rules,
                           RESHAPED_WINDOWS, err);
    if (rc == ERR_OK)
        rc = write_against(look, base, has_rules ? &reshaped.snapshot : &snapshot, format,
                           response, err);
    reshaped_deinit(&reshaped);
    profile_snapshot_release(&snapshot);
    return rc;
}

static enum err_code unknown_format(struct err *err)
{
    struct buffer names = { 0 };
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", format->name);
    const char *const text = buffer_string(&names);
    err_set(err, ERR_INVALID, "parameter \"format\" is one of %s", text ? text : "the formats");
    buffer_deinit(&names);
    return ERR_INVALID;
}

static enum err_code compare(const struct call *call, const struct look *look,
                             const struct report_format *format, struct response *response,
                             struct err *err)
{
    const char *const id = look->query.base;
    if (!id)
        return err_set(err, ERR_INVALID, "format \"%s\" compares with the session of base=ID",
                       format->name);
    struct session *base = sessions_find(call->sessions, id);
    if (base && !call_sees(call, base)) {
        session_release(base);
        base = NULL;
    }
    if (!base)
        return err_set(err, ERR_INVALID, "parameter \"base\": no session %.32s", id);
    const enum err_code rc = compare_with(look, base, format, response, err);
    session_release(base);
    return rc;
}

enum err_code api_get_export(const struct call *call, struct response *response,
                             struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_EXPORT | QUERY_FORMAT | QUERY_BASE, err);
    if (rc != ERR_OK)
        return rc;
    const struct report_format *const format =
        report_find(look.query.format ? look.query.format : "");
    if (format && format->needs_baseline)
        rc = compare(call, &look, format, response, err);
    else
        rc = format ? answer(&look, format, NULL, response, err) : unknown_format(err);
    look_end(&look);
    return rc;
}

enum err_code api_get_report(const struct call *call, struct response *response,
                             struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, QUERY_EXPORT, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(&look, report_find("flamegraph"), NULL, response, err);
    look_end(&look);
    return rc;
}
