#include "server/sessions/sessions.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/enum_text.h"
#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/access/auth.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/json_body.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/capture_store.h"
#include "server/sessions/dashboard.h"
#include "server/wire/session.h"

static enum err_code write_session(struct json *json, struct session *session, struct err *err)
{
    struct profile_snapshot snapshot;
    struct session_info info;
    const enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(session, &snapshot, &info);
    session_write(json, &info);
    profile_snapshot_release(&snapshot);
    return ERR_OK;
}

static enum err_code write_list(struct json *json, const struct handler_context *handler,
                                struct err *err)
{
    enum err_code rc = ERR_OK;
    struct session *session = NULL;
    json_object(json);
    json_key(json, "sessions");
    json_array(json);
    for (size_t i = 0; rc == ERR_OK && (session = sessions_at(handler->sessions, i)); i++) {
        if (handler_sees(handler, session))
            rc = write_session(json, session, err);
        session_release(session);
    }
    json_end(json);
    json_end(json);
    return rc;
}

enum err_code api_list_sessions(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    struct document document;
    const enum err_code rc = query_read_none(handler->request, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    return document_send_or_drop(&document, write_list(&document.json, handler, err), response,
                                 err);
}

static enum err_code send_session(struct session *session, struct response *response,
                                  struct err *err)
{
    struct document document;
    document_begin(&document);
    return document_send_or_drop(&document, write_session(&document.json, session, err),
                                 response, err);
}

enum err_code api_get_session(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session *session = NULL;
    enum err_code rc = query_read_none(handler->request, err);
    if (rc == ERR_OK)
        rc = handler_session(handler, &session, err);
    return rc == ERR_OK ? send_session(session, response, err) : rc;
}

enum err_code api_send_held(const struct handler_context *handler, int status,
                            struct response *response, struct err *err)
{
    response->status = status;
    response_set_header(response, "Location", "%s/api/v1/sessions/%s", handler->auth->base_path,
                        (*handler->held)->id);
    return send_session(*handler->held, response, err);
}

enum {
    POST_PIDS,
    POST_ALL,
    POST_SUBPROCESSES,
    POST_RATE,
    POST_DURATION,
    POST_THREADS,
    POST_MODE,
    POST_NATIVE,
    POST_GC,
    POST_OPCODES,
    POST_ASYNC,
    POST_BLOCKING,
    POST_MAX_CPU,
    POST_NAME,
    POST_NOTE,
    POST_MEMBERS
};

static enum err_code read_pids(const struct body_member *member, struct sampler_options *out,
                               struct err *err)
{
    for (size_t i = 0; i < member->count; i++) {
        const double number = member->numbers[i];
        if (!(number >= 1 && number <= INT32_MAX) || number != (double)(pid_t)number)
            return err_set(err, ERR_INVALID, "\"pids\": %.10g is not a process id", number);
        for (size_t k = 0; k < i; k++)
            if (out->pids[k] == (pid_t)number)
                return err_set(err, ERR_INVALID, "\"pids\": %d is given twice", (int)number);
        out->pids[i] = (pid_t)number;
    }
    out->pid_count = member->count;
    return ERR_OK;
}

static enum err_code read_choices(const struct body_member *members,
                                  struct sampler_options *out, struct err *err)
{
    const char *const threads = members[POST_THREADS].text;
    const int mode = enum_find(sampler_mode_texts, members[POST_MODE].text);
    const int async = enum_find(sampler_async_texts, members[POST_ASYNC].text);
    if (members[POST_THREADS].is_present && strcmp(threads, "all") != 0 &&
        strcmp(threads, "main") != 0)
        return err_set(err, ERR_INVALID, "\"threads\" must be all or main");
    if (members[POST_THREADS].is_present)
        out->all_threads = strcmp(threads, "all") == 0;
    if (members[POST_ASYNC].is_present && async < 0)
        return err_set(err, ERR_INVALID, "\"async\" must be off, running or all");
    if (members[POST_ASYNC].is_present)
        out->async = (enum sampler_async)async;
    if (members[POST_MODE].is_present && mode < 0)
        return err_set(err, ERR_INVALID, "\"mode\" must be wall, cpu, gil or exception");
    if (members[POST_MODE].is_present)
        out->mode = (enum sampler_mode)mode;
    return ERR_OK;
}

static enum err_code read_numbers(const struct body_member *members,
                                  struct sampler_options *out, struct err *err)
{
    const struct body_member *const duration = &members[POST_DURATION];
    const struct body_member *const budget = &members[POST_MAX_CPU];
    if (members[POST_RATE].is_present)
        out->rate_hz = members[POST_RATE].number;
    if (duration->is_present && !(duration->number > 0 && duration->number < 1e9))
        return err_set(err, ERR_INVALID, "\"duration_s\" must be more than 0");
    out->duration_ns = (uint64_t)(duration->number * 1e9);
    if (budget->is_present && !(budget->number > 0 && budget->number <= 100))
        return err_set(err, ERR_INVALID,
                       "\"max_cpu_percent\" must be more than 0 and at most 100");
    out->max_cpu_percent = budget->number;
    return ERR_OK;
}

static enum err_code read_options(const struct body_member *members,
                                  struct sampler_options *out, struct err *err)
{
    out->all = members[POST_ALL].flag;
    out->subprocesses = members[POST_SUBPROCESSES].flag;
    out->native = members[POST_NATIVE].flag;
    out->no_gc = members[POST_GC].is_present && !members[POST_GC].flag;
    out->opcodes = members[POST_OPCODES].flag;
    out->blocking = members[POST_BLOCKING].flag;
    enum err_code rc = read_pids(&members[POST_PIDS], out, err);
    if (rc == ERR_OK)
        rc = read_choices(members, out, err);
    return rc == ERR_OK ? read_numbers(members, out, err) : rc;
}

static enum err_code check_words(const struct body_member *name, const struct body_member *note,
                                 struct err *err)
{
    if (strlen(name->text) > SESSION_MAX_NAME)
        return err_set(err, ERR_INVALID, "\"%s\" must have at most %d bytes", name->name,
                       SESSION_MAX_NAME);
    if (strlen(note->text) > SESSION_MAX_NOTE)
        return err_set(err, ERR_INVALID, "\"note\" must have at most %d bytes",
                       SESSION_MAX_NOTE);
    return ERR_OK;
}

static enum err_code read_post(const struct request *request, struct sampler_options *options,
                               struct session_words *words, struct err *err)
{
    double pids[SAMPLER_MAX_PROCESSES];
    struct body_member members[POST_MEMBERS] = {
        [POST_PIDS] = { .name = "pids",
                        .kind = BODY_NUMBERS,
                        .numbers = pids,
                        .room = SAMPLER_MAX_PROCESSES },
        [POST_ALL] = { .name = "all", .kind = BODY_FLAG },
        [POST_SUBPROCESSES] = { .name = "subprocesses", .kind = BODY_FLAG },
        [POST_RATE] = { .name = "rate_hz", .kind = BODY_NUMBER },
        [POST_DURATION] = { .name = "duration_s", .kind = BODY_NUMBER },
        [POST_THREADS] = { .name = "threads" },
        [POST_MODE] = { .name = "mode" },
        [POST_NATIVE] = { .name = "native", .kind = BODY_FLAG },
        [POST_GC] = { .name = "gc", .kind = BODY_FLAG },
        [POST_OPCODES] = { .name = "opcodes", .kind = BODY_FLAG },
        [POST_ASYNC] = { .name = "async" },
        [POST_BLOCKING] = { .name = "blocking", .kind = BODY_FLAG },
        [POST_MAX_CPU] = { .name = "max_cpu_percent", .kind = BODY_NUMBER },
        [POST_NAME] = { .name = "name" },
        [POST_NOTE] = { .name = "note" },
    };
    enum err_code rc =
        body_read(request->body, request->body_bytes, members, POST_MEMBERS, err);
    if (rc == ERR_OK)
        rc = read_options(members, options, err);
    if (rc == ERR_OK)
        rc = check_words(&members[POST_NAME], &members[POST_NOTE], err);
    if (rc != ERR_OK)
        return rc;
    memset(words, 0, sizeof *words);
    memcpy(words->name, members[POST_NAME].text, SESSION_MAX_NAME);
    memcpy(words->note, members[POST_NOTE].text, SESSION_MAX_NOTE);
    return ERR_OK;
}

/* A limit that was reached is the client's to see to. */
static enum err_code conflict(struct response *response, const struct err *err)
{
    response_problem(response, 409, "%s", err->message);
    return ERR_OK;
}

enum err_code api_start_session(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    struct dashboard *dashboard = NULL;
    const struct frame_filters filters = { 0 };
    struct sampler_options options;
    struct session_words words;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (rc == ERR_OK)
        rc = query_read_none(handler->request, err);
    if (rc != ERR_OK)
        return rc;
    dashboard_defaults(dashboard, &options);
    rc = read_post(handler->request, &options, &words, err);
    if (rc == ERR_OK)
        rc = handler_admit(handler, &options, err);
    if (rc == ERR_OK)
        rc = dashboard_launch(dashboard, &options, &filters, &words, handler->held, err);
    if (rc == ERR_LIMIT)
        return conflict(response, err);
    return rc == ERR_OK ? api_send_held(handler, 202, response, err) : rc;
}

enum { PATCH_STATE, PATCH_RATE, PATCH_NAME, PATCH_NOTE, PATCH_MEMBERS };

static enum err_code change_state(struct session *session, const char *state, struct err *err)
{
    struct sampler *const sampler = session->sampler;
    if (strcmp(state, "ended") == 0)
        session_stop(session);
    else if (strcmp(state, "paused") == 0)
        sampler_pause(sampler, true);
    else if (strcmp(state, "running") == 0)
        sampler_pause(sampler, false);
    else
        return err_set(err, ERR_INVALID, "\"state\" must be paused, running or ended");
    return ERR_OK;
}

static enum err_code change_rate(const struct handler_context *handler, struct session *session,
                                 double rate_hz, struct err *err)
{
    const struct dashboard *const dashboard = handler->dashboard;
    if (dashboard && rate_hz > dashboard->max_rate_hz)
        return err_set(err, ERR_INVALID, "\"rate_hz\" must be at most %g (--max-rate)",
                       dashboard->max_rate_hz);
    return sampler_set_rate(session->sampler, rate_hz, err);
}

static void take_words(void *context, const struct capture_entry *entry)
{
    struct capture_words *const words = context;
    *words = entry->words;
}

/* What people say of a session is said of its capture too, which outlives it. */
static enum err_code keep_words(const struct handler_context *handler, struct session *session,
                                struct err *err)
{
    struct captures *const captures = handler->dashboard ? handler->dashboard->captures : NULL;
    struct session_words said;
    struct capture_words words;
    session_words(session, &said);
    if (!captures || !*said.capture)
        return ERR_OK;
    const enum err_code rc = captures_tell_one(captures, said.capture, take_words, &words, err);
    if (rc == ERR_NOT_FOUND)
        return ERR_OK;
    if (rc != ERR_OK)
        return rc;
    snprintf(words.title, sizeof words.title, "%s", said.name);
    snprintf(words.note, sizeof words.note, "%s", said.note);
    return captures_describe(captures, said.capture, &words, err);
}

static enum err_code change(const struct handler_context *handler, struct session *session,
                            const struct body_member *members, struct err *err)
{
    const struct body_member *const name = &members[PATCH_NAME];
    const struct body_member *const note = &members[PATCH_NOTE];
    enum err_code rc = check_words(name, note, err);
    if (rc == ERR_OK && members[PATCH_RATE].is_present)
        rc = change_rate(handler, session, members[PATCH_RATE].number, err);
    if (rc == ERR_OK && members[PATCH_STATE].is_present)
        rc = change_state(session, members[PATCH_STATE].text, err);
    if (rc != ERR_OK || (!name->is_present && !note->is_present))
        return rc;
    session_rename(session, name->is_present ? name->text : NULL,
                   note->is_present ? note->text : NULL);
    return keep_words(handler, session, err);
}

/* Why it cannot be changed so now; NULL: it can. */
static const char *objection(struct session *session, const struct body_member *members)
{
    const enum sampler_state state = session_state(session);
    const bool ends = strcmp(members[PATCH_STATE].text, "ended") == 0;
    if (!members[PATCH_STATE].is_present && !members[PATCH_RATE].is_present)
        return NULL;
    if (state == SAMPLER_ENDED || state == SAMPLER_FAILED || session->source == SESSION_CAPTURE)
        return "has ended";
    return !session->sampler && !(ends && !members[PATCH_RATE].is_present) ? "is starting"
                                                                           : NULL;
}

enum err_code api_change_session(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct body_member members[PATCH_MEMBERS] = {
        [PATCH_STATE] = { .name = "state" },
        [PATCH_RATE] = { .name = "rate_hz", .kind = BODY_NUMBER },
        [PATCH_NAME] = { .name = "name" },
        [PATCH_NOTE] = { .name = "note" },
    };
    struct session *session = NULL;
    const char *why = NULL;
    enum err_code rc = handler_session(handler, &session, err);
    if (rc == ERR_OK)
        rc = body_read(handler->request->body, handler->request->body_bytes, members,
                       PATCH_MEMBERS, err);
    if (rc == ERR_OK && (why = objection(session, members))) {
        response_problem(response, 409, "session %s %s", session->id, why);
        return ERR_OK;
    }
    if (rc == ERR_OK)
        rc = change(handler, session, members, err);
    return rc == ERR_OK ? send_session(session, response, err) : rc;
}

enum err_code api_delete_session(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct session *session = NULL;
    enum err_code rc = handler_session(handler, &session, err);
    if (rc == ERR_OK)
        rc = query_read_none(handler->request, err);
    if (rc != ERR_OK)
        return rc;
    sessions_remove(handler->sessions, session);
    sessions_share(handler->sessions);
    response->status = 204;
    return ERR_OK;
}
