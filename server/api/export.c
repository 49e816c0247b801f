#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/report_source.h"
#include "server/api/session_request.h"
#include "server/http/response.h"
#include "server/http/spool.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/wire/reshaped.h"
#include "server/wire/session.h"

/* Query parameters that all files take. */
enum { QUERY_EXPORT = QUERY_VIEW | QUERY_FILTERS | QUERY_ANONYMIZE | QUERY_MEASURE };

struct sending {
    const struct report_format *format;
    struct response *response;
};

static enum err_code send_export(const struct report_source *source, void *context,
                                 struct err *err)
{
    const struct sending *const sending = context;
    const struct report_format *const format = sending->format;
    struct spool spool;
    struct buffer file;
    char name[REPORT_NAME_BYTES];
    spool_begin(&spool, &file);
    const enum err_code written = report_write(format, source, &file, err);
    const enum err_code rc =
        spool_end(&spool, &file, written, format->mime, sending->response, err);
    report_file_name(source, format, name);
    if (!rc)
        response_set_header(sending->response, "Content-Disposition",
                            "attachment; filename=\"%s\"", name);
    return rc;
}

static enum err_code answer_export(const struct session_request *asked,
                                   const struct report_format *format,
                                   const struct report_source *baseline,
                                   struct response *response, struct err *err)
{
    struct sending sending = { format, response };
    return report_source_use(asked, baseline, send_export, &sending, err);
}

/* query: of what `snapshot` has, which may be chosen and without marks of waits already. */
static enum err_code write_against(const struct session_request *asked,
                                   struct session_entry *base,
                                   const struct profile_snapshot *snapshot,
                                   const struct view_query *query,
                                   const struct report_format *format,
                                   struct response *response, struct err *err)
{
    const struct view_query chosen = { .states = asked->query.view.states };
    struct session_info info;
    session_entry_describe(base, snapshot, &info);
    const struct report_selection selection = { .snapshot = snapshot,
                                                .query = &chosen,
                                                .filters = &asked->query.filters };
    const struct report_source baseline = { .snapshot = snapshot,
                                            .query = query,
                                            .selection = &selection,
                                            .session = &info,
                                            .files = session_entry_files(base) };
    return answer_export(asked, format, &baseline, response, err);
}

/* Against another session, with its stacks as the filters make them, and the same choice of requests; against itself,
 * the requests that are not chosen. */
static enum err_code compare_with(const struct session_request *asked,
                                  struct session_entry *base,
                                  const struct report_format *format, struct response *response,
                                  struct err *err)
{
    const struct view_query everything = { 0 };
    struct view_query query = { .states = asked->query.view.states };
    struct request_choice choice = asked->query.requests;
    struct request_set requests = { 0 };
    struct profile_snapshot snapshot;
    struct reshaped reshaped = { 0 };
    enum err_code rc = profile_snapshot_measured(session_entry_profile(base),
                                                 asked->snapshot.measure, &snapshot, err);
    if (rc)
        return rc;
    if (request_choice_is_set(&choice)) {
        choice.is_rest ^= base == asked->entry;
        rc = request_set_init(&requests, &snapshot, &choice, err);
        query.requests = &requests;
    }
    const bool is_reshaped = reshape_is_needed(&snapshot, &asked->query.filters);
    if (!rc && is_reshaped)
        rc = reshaped_init(&reshaped, &snapshot, &query, &asked->query.filters,
                           RESHAPED_WINDOWS, err);
    if (!rc)
        rc = write_against(asked, base, is_reshaped ? &reshaped.snapshot : &snapshot,
                           is_reshaped ? &everything : &query, format, response, err);
    reshaped_deinit(&reshaped);
    request_set_deinit(&requests);
    profile_snapshot_release(&snapshot);
    return rc;
}

/* Whoever opens a page chooses. */
static void choose_frames(const struct report_format *format, struct frame_filters *filters)
{
    filters->shows_contexts |= report_labels_contexts(format);
    if (!report_is_page(format))
        return;
    filters->waits = WAIT_MARKS_SHOWN;
    filters->shows_contexts = true;
    if (filters->native == NATIVE_FRAMES_DEFAULT)
        filters->native = NATIVE_FRAMES_EVERYTHING;
}

/* A format of time alone is of time, unless another measure was named. */
static enum err_code check_measure(struct session_request *asked,
                                   const struct report_format *format, struct err *err)
{
    if (format->takes_measures || asked->snapshot.measure == MEASURE_TIME)
        return ERR_OK;
    if (asked->query.measure)
        return err_set(err, ERR_INVALID,
                       "format \"%s\" is of time alone: leave out \"measure\"", format->name);
    return session_request_count(asked, MEASURE_TIME, err);
}

static enum err_code unknown_format(struct err *err)
{
    struct buffer names = { 0 };
    const struct report_format *format = NULL;
    for (size_t i = 0; (format = report_at(i)); i++)
        buffer_printf(&names, "%s%s", i > 0 ? ", " : "", format->name);
    const char *const text = buffer_string(&names);
    err_set(err, ERR_INVALID, "parameter \"format\" must be one of %s",
            text ? text : "the formats");
    buffer_deinit(&names);
    return ERR_INVALID;
}

static enum err_code answer_comparison(const struct handler_context *handler,
                                       const struct session_request *asked,
                                       const struct report_format *format,
                                       struct response *response, struct err *err)
{
    const char *const id = asked->query.baseline;
    if (!id)
        return err_set(err, ERR_INVALID,
                       "format \"%s\" needs baseline=ID, the session to compare with",
                       format->name);
    struct session_entry *base = sessions_find(handler->sessions, id);
    if (base && !handler_sees(handler, base)) {
        session_release(base);
        base = NULL;
    }
    if (!base)
        return err_set(err, ERR_INVALID, "parameter \"baseline\": no session %.32s", id);
    const enum err_code rc = compare_with(asked, base, format, response, err);
    session_release(base);
    return rc;
}

enum err_code api_get_export(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler,
                                             QUERY_EXPORT | QUERY_FORMAT | QUERY_BASELINE, err);
    if (rc)
        return rc;
    const struct report_format *const format =
        report_find(asked.query.format ? asked.query.format : "");
    rc = format ? check_measure(&asked, format, err) : unknown_format(err);
    if (!rc && format->has_every_measure && !asked.query.measure)
        asked.snapshot.beside = asked.snapshot.measures & ~MEASURE_SET(asked.snapshot.measure);
    if (!rc)
        choose_frames(format, &asked.query.filters);
    if (!rc && format->needs_baseline && !asked.query.view.states.parts)
        asked.query.view.states.parts = report_usual_parts(format);
    if (!rc)
        rc = format->needs_baseline ? answer_comparison(handler, &asked, format, response, err)
                                    : answer_export(&asked, format, NULL, response, err);
    session_request_end(&asked);
    return rc;
}

enum err_code api_get_report(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler, QUERY_EXPORT, err);
    if (rc)
        return rc;
    choose_frames(report_find("flamegraph"), &asked.query.filters);
    rc = answer_export(&asked, report_find("flamegraph"), NULL, response, err);
    session_request_end(&asked);
    return rc;
}
