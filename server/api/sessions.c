#include "server/sessions/sessions.h"

#include <stdio.h>
#include <string.h>

#include "sampler/permission.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "server/access/auth.h"
#include "server/api/api.h"
#include "server/api/body_settings.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/dashboard.h"
#include "server/settings/setting.h"
#include "server/settings/view_settings.h"
#include "server/wire/session.h"

static enum err_code write_session(struct json *json, struct session_entry *entry,
                                   struct err *err)
{
    struct profile_snapshot snapshot;
    struct session_info info;
    const enum err_code rc = profile_snapshot(session_entry_profile(entry), &snapshot, err);
    if (rc)
        return rc;
    session_entry_describe(entry, &snapshot, &info);
    session_info_write(json, &info);
    profile_snapshot_release(&snapshot);
    return ERR_OK;
}

enum err_code api_list_sessions(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    struct document document;
    enum err_code rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    document_begin(&document);

    struct json *const json = &document.json;
    struct session_entry *entry = NULL;
    json_object(json);
    json_member_array(json, "sessions");
    for (size_t i = 0; !rc && (entry = sessions_at(handler->sessions, i)); i++) {
        if (handler_sees(handler, entry))
            rc = write_session(json, entry, err);
        session_release(entry);
    }
    json_end(json);
    json_end(json);
    return document_send_or_drop(&document, rc, response, err);
}

static enum err_code send_session(struct session_entry *entry, struct response *response,
                                  struct err *err)
{
    struct document document;
    document_begin(&document);
    return document_send_or_drop(&document, write_session(&document.json, entry, err), response,
                                 err);
}

enum err_code api_get_session(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_entry *entry = NULL;
    enum err_code rc = query_read_none(handler->request, err);
    if (!rc)
        rc = handler_session(handler, &entry, err);
    return rc ? rc : send_session(entry, response, err);
}

enum err_code api_send_held(const struct handler_context *handler, int status,
                            struct response *response, struct err *err)
{
    response->status = status;
    response_set_header(response, "Location", "%s/api/v1/sessions/%s", handler->auth->base_path,
                        (*handler->held)->id);
    return send_session(*handler->held, response, err);
}

enum { THREADS_MAIN, THREADS_ALL };

static const char *const threads_texts[] = { "main", "all", NULL };

struct wanted {
    struct session_options options;
    struct frame_filters filters;
    struct setting_ids pids;
    unsigned threads;
    bool marks_gc, has_context, has_events;
    const char *name, *note;
};

/* The last arguments are the kind, and what else the row says. */
#define ROW(name_, type_, member_, ...)                                          \
    {                                                                            \
        .name = (name_), .offset = offsetof(type_, member_), .kind = __VA_ARGS__ \
    }
#define MEMBER(name, member, ...) ROW(name, struct wanted, member, __VA_ARGS__)
#define TEXTS(texts_)             .texts = (texts_)
#define RANGE(least_, most_)      .least = (least_), .most = (most_)
#define FILTER(name, kind_)                                        \
    MEMBER(name, filters, SETTING_OTHER, .read = view_read_filter, \
           .which = FRAME_FILTER_##kind_, .is_repeatable = true)

static const struct setting post_members[] = {
    MEMBER("pids", pids, SETTING_IDS, RANGE(1, INT32_MAX)),
    MEMBER("all", options.all, SETTING_FLAG),
    MEMBER("subprocesses", options.subprocesses, SETTING_FLAG),
    MEMBER("rate_hz", options.rate_hz, SETTING_RATE),
    MEMBER("duration_s", options.duration_ns, SETTING_DURATION),
    MEMBER("threads", threads, SETTING_CHOICE, TEXTS(threads_texts)),
    MEMBER("mode", options.mode, SETTING_CHOICE, TEXTS(session_mode_texts)),
    MEMBER("native", options.native, SETTING_CHOICE, TEXTS(session_native_texts)),
    MEMBER("kernel", options.kernel_frames, SETTING_FLAG),
    MEMBER("events", options.measures, SETTING_OTHER, .read = setting_read_events,
           .given = offsetof(struct wanted, has_events), .is_repeatable = true),
    MEMBER("gc", marks_gc, SETTING_FLAG),
    MEMBER("opcodes", options.opcodes, SETTING_FLAG),
    MEMBER("async", options.async, SETTING_CHOICE, TEXTS(session_async_texts)),
    MEMBER("context", options.context, SETTING_OTHER, .read = setting_read_context,
           .given = offsetof(struct wanted, has_context)),
    MEMBER("engine", options.engine, SETTING_CHOICE, TEXTS(session_engine_texts)),
    MEMBER("stop", options.stop, SETTING_CHOICE, TEXTS(session_stop_texts)),
    MEMBER("max_stop_percent", options.max_stop_percent, SETTING_PERCENT),
    MEMBER("max_cpu_percent", options.max_cpu_percent, SETTING_PERCENT),
    FILTER("focus", FOCUS),
    FILTER("ignore", IGNORE),
    FILTER("hide", HIDE),
    FILTER("show", SHOW),
    FILTER("show_from", SHOW_FROM),
    MEMBER("name", name, SETTING_TEXT, RANGE(0, SESSION_MAX_NAME)),
    MEMBER("note", note, SETTING_TEXT, RANGE(0, SESSION_MAX_NOTE)),
};

_Static_assert(sizeof post_members / sizeof *post_members <= BODY_SETTINGS_MAX, "a bit each");
_Static_assert((int)SETTING_MAX_IDS == (int)SESSION_MAX_PROCESSES, "as many as may be sampled");

enum err_code api_start_session(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct wanted wanted = { .marks_gc = true };
    struct body *body = NULL;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (!rc)
        rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    dashboard_defaults(dashboard, &wanted.options);
    wanted.threads = wanted.options.all_threads ? THREADS_ALL : THREADS_MAIN;
    rc = body_settings_read(handler->request, post_members,
                            sizeof post_members / sizeof *post_members, &wanted, &body, err);
    if (!rc) {
        struct session_words words;
        memset(&words, 0, sizeof words);
        snprintf(words.name, sizeof words.name, "%s", wanted.name ? wanted.name : "");
        snprintf(words.note, sizeof words.note, "%s", wanted.note ? wanted.note : "");
        wanted.options.all_threads = wanted.threads == THREADS_ALL;
        wanted.options.no_gc = !wanted.marks_gc;
        if (!wanted.has_context)
            memcpy(wanted.options.context, dashboard->context, sizeof dashboard->context);
        if (!wanted.has_events && wanted.options.engine != SESSION_ENGINE_REMOTE)
            wanted.options.measures = dashboard->measures;
        const struct setting_ids *const pids = &wanted.pids;
        wanted.options.pid_count = pids->count;
        for (size_t i = 0; i < pids->count && !rc; i++) {
            for (size_t k = 0; k < i && !rc; k++)
                if (pids->items[k] == pids->items[i])
                    rc = err_set(err, ERR_INVALID, "\"pids\": %u is given twice",
                                 pids->items[i]);
            wanted.options.pids[i] = (pid_t)pids->items[i];
        }
        for (size_t i = 0; i < pids->count && !rc; i++)
            rc = permission_ask(wanted.options.pids[i], NULL, err);
        if (!rc)
            rc = dashboard_launch(dashboard, &wanted.options, &wanted.filters, &words,
                                  handler->held, err);
    }
    body_destroy(body);
    if (rc == ERR_LIMIT) {
        /* A limit that was reached is the client's to see to. */
        response_problem(response, 409, "%s", err->message);
        return ERR_OK;
    }
    return rc ? rc : api_send_held(handler, 202, response, err);
}

enum state_change { CHANGE_PAUSED, CHANGE_RUNNING, CHANGE_ENDED };

static const char *const state_texts[] = { "paused", "running", "ended", NULL };

struct change {
    unsigned state;
    unsigned native;
    bool has_state, has_rate, has_native;
    double rate_hz;
    const char *name, *note; /* NULL: not given */
};

#define AT(member_) offsetof(struct change, member_)

static const struct setting patch_members[] = {
    ROW("state", struct change, state, SETTING_CHOICE, TEXTS(state_texts),
        .given = AT(has_state)),
    ROW("native", struct change, native, SETTING_CHOICE, TEXTS(session_native_texts),
        .given = AT(has_native)),
    ROW("rate_hz", struct change, rate_hz, SETTING_RATE, .given = AT(has_rate)),
    ROW("name", struct change, name, SETTING_TEXT, RANGE(0, SESSION_MAX_NAME)),
    ROW("note", struct change, note, SETTING_TEXT, RANGE(0, SESSION_MAX_NOTE)),
};

static void take_words(void *context, const struct capture_entry *entry)
{
    struct capture_words *const words = context;
    *words = entry->words;
}

static enum err_code apply_change(const struct handler_context *handler,
                                  struct session_entry *entry, const struct change *change,
                                  struct err *err)
{
    enum err_code rc = ERR_OK;
    if (change->has_rate) {
        const struct dashboard *const dashboard = handler->dashboard;
        if (dashboard && change->rate_hz > dashboard->max_rate_hz)
            return err_set(err, ERR_INVALID, "\"rate_hz\" must be at most %g (--max-rate)",
                           dashboard->max_rate_hz);
        rc = session_set_rate(entry->session, change->rate_hz, err);
    }
    if (!rc && change->has_native) {
        /* The stacks of one session have native frames from some time on, or not. */
        if (((enum session_native)change->native) != SESSION_NATIVE_FULL)
            return err_set(err, ERR_INVALID,
                           "\"native\" of a running session can only become full");
        rc = session_record_native(entry->session, err);
    }
    if (!rc && change->has_state) {
        const enum state_change state = change->state;
        if (state == CHANGE_ENDED)
            session_entry_stop(entry);
        else
            session_pause(entry->session, state == CHANGE_PAUSED);
    }
    if (rc || (!change->name && !change->note))
        return rc;
    session_entry_rename(entry, change->name, change->note);

    /* Words about a session are kept with its capture too, which outlives it. */
    struct captures *const captures = handler->dashboard ? handler->dashboard->captures : NULL;
    struct session_words said;
    struct capture_words words;
    session_entry_words(entry, &said);
    if (!captures || !*said.capture)
        return ERR_OK;
    rc = captures_tell_one(captures, said.capture, take_words, &words, err);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (rc)
        return rc;
    snprintf(words.title, sizeof words.title, "%s", said.name);
    snprintf(words.note, sizeof words.note, "%s", said.note);
    return captures_describe(captures, said.capture, &words, err);
}

/* Why it cannot be changed so now; NULL: it can. */
static const char *find_objection(struct session_entry *entry, const struct change *change)
{
    const enum session_state state = session_entry_state(entry);
    const bool only_ends = change->has_state && change->state == CHANGE_ENDED &&
                           !change->has_rate && !change->has_native;
    if (!change->has_state && !change->has_rate && !change->has_native)
        return NULL;
    if (state == SESSION_ENDED || state == SESSION_FAILED || entry->source == SESSION_CAPTURE)
        return "has ended";
    return !entry->session && !only_ends ? "is starting" : NULL;
}

enum err_code api_change_session(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct change change = { .name = NULL };
    struct session_entry *entry = NULL;
    struct body *body = NULL;
    const char *why = NULL;
    enum err_code rc = handler_session(handler, &entry, err);
    if (!rc)
        rc = body_settings_read(handler->request, patch_members,
                                sizeof patch_members / sizeof *patch_members, &change, &body,
                                err);
    if (!rc && !(why = find_objection(entry, &change)))
        rc = apply_change(handler, entry, &change, err);
    body_destroy(body);
    if (rc)
        return rc;
    if (!why)
        return send_session(entry, response, err);
    response_problem(response, 409, "session %s %s", entry->id, why);
    return ERR_OK;
}

enum err_code api_delete_session(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct session_entry *entry = NULL;
    enum err_code rc = handler_session(handler, &entry, err);
    if (!rc)
        rc = query_read_none(handler->request, err);
    if (rc)
        return rc;
    sessions_remove(handler->sessions, entry);
    sessions_share(handler->sessions);
    response->status = 204;
    return ERR_OK;
}
