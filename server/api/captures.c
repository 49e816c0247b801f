#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
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
#include "server/sessions/sessions.h"
#include "server/wire/rfc3339.h"

enum { DEFAULT_LIMIT = 100 };

/* The context of a visitor of the list. */
struct listing {
    struct json *json;
    struct sessions *sessions;
    size_t at, offset, limit;
};

static enum err_code captures_of(const struct handler_context *handler, struct captures **out,
                                 struct err *err)
{
    struct dashboard *dashboard = NULL;
    const enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (rc)
        return rc;
    if (!dashboard->captures)
        return err_set(err, ERR_NOT_FOUND, "this server stores no captures (--no-data)");
    *out = dashboard->captures;
    return ERR_OK;
}

static void write_capture(void *context, const struct capture_entry *entry)
{
    static const char *const states[] = { "recording", "complete", "incomplete" };
    const struct listing *const listing = context;
    struct json *const json = listing->json;
    const char *const reason = entry->fault ? entry->fault : entry->reason;
    json_object(json);
    json_member_text(json, "name", entry->name);
    json_member_text(json, "title", entry->words.title);
    json_member_text(json, "note", entry->words.note);

    json_member_array(json, "labels");
    for (size_t i = 0; i < entry->words.label_count; i++)
        json_text(json, entry->words.labels[i]);
    json_end(json);

    json_member_uint(json, "bytes", entry->bytes);
    json_key(json, "target");

    json_object(json);
    json_member_uint(json, "pid", entry->pid);
    json_member_array(json, "command");
    for (size_t i = 0; i < entry->argc; i++)
        json_text(json, entry->argv[i]);
    json_end(json);
    json_member_text(json, "executable", entry->executable);
    json_member_text(json, "python", entry->python);
    json_member_text(json, "host", entry->host);
    json_member_text(json, "user", entry->user);
    json_end(json);

    rfc3339_write(json, "started_at", entry->started_at_ns);
    rfc3339_write(json, "ended_at", entry->ended_at_ns);
    if (json_member_if(json, "elapsed_s", entry->elapsed_ns))
        json_number(json, (double)entry->elapsed_ns / (double)NS_PER_S);
    json_member_number(json, "rate_hz", entry->rate_hz);

    json_member_text(json, "state", states[entry->state]);
    json_member_text(json, "reason", *reason ? reason : NULL);
    json_member_bool(json, "continuous", entry->words.is_continuous);

    const char *const name = entry->name;
    struct session_entry *shown = NULL;
    json_member_array(listing->json, "sessions");
    for (size_t i = 0; (shown = sessions_at(listing->sessions, i)); i++) {
        struct session_words words;
        session_entry_words(shown, &words);
        if (strcmp(words.capture, name) == 0)
            json_text(listing->json, shown->id);
        session_release(shown);
    }
    json_end(listing->json);

    json_end(json);
}

static void write_row(void *context, const struct capture_entry *entry)
{
    struct listing *const listing = context;
    const size_t at = listing->at++;
    if (at >= listing->offset && at - listing->offset < listing->limit)
        write_capture(context, entry);
}

static struct listing listing_of(const struct handler_context *handler, struct json *json)
{
    return (
        struct listing){ .json = json, .sessions = handler->sessions, .limit = DEFAULT_LIMIT };
}

enum err_code api_list_captures(const struct handler_context *handler,
                                struct response *response, struct err *err)
{
    struct captures *captures = NULL;
    struct query query;
    struct document document;
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = query_read(handler->request, QUERY_CAPTURES, &query, err);
    if (rc)
        return rc;
    document_begin(&document);
    struct listing listing = listing_of(handler, &document.json);
    listing.offset = query.offset;
    if (query.limit)
        listing.limit = query.limit;

    const struct captures_query wanted = { .search = query.search,
                                           .host = query.host,
                                           .label = query.label,
                                           .from_ns = query.view.from_ns,
                                           .to_ns = query.view.to_ns };
    struct json *const json = listing.json;
    struct captures_summary summary;
    json_object(json);
    json_member_text(json, "folder", captures_folder(captures));

    const struct captures_settings *const settings = captures_settings(captures);
    json_member_object(json, "retention");
    if (json_member_if(json, "days", settings->keep_ns))
        json_number(json, (double)settings->keep_ns / (double)NS_PER_S / 86400);
    if (json_member_if(json, "bytes", settings->keep_bytes))
        json_uint(json, settings->keep_bytes);
    json_end(json);

    json_member_uint(json, "offset", listing.offset);
    json_member_array(json, "captures");
    rc = captures_visit(captures, &wanted, write_row, &listing, &summary, err);
    json_end(json);
    json_member_uint(json, "total", summary.total);
    json_member_uint(json, "bytes", summary.bytes);
    json_end(json);
    return document_send_or_drop(&document, rc, response, err);
}

static enum err_code send_one(const struct handler_context *handler, struct captures *captures,
                              const char *name, struct response *response, struct err *err)
{
    struct document document;
    document_begin(&document);
    struct listing listing = listing_of(handler, &document.json);
    const enum err_code rc = captures_tell_one(captures, name, write_capture, &listing, err);
    return document_send_or_drop(&document, rc, response, err);
}

enum err_code api_get_capture(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct captures *captures = NULL;
    const enum err_code rc = captures_of(handler, &captures, err);
    return rc ? rc : send_one(handler, captures, handler->argument, response, err);
}

enum err_code api_open_capture(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct captures *captures = NULL;
    struct body_member name = { .name = "name" };
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = body_read(handler->request->body, handler->request->body_bytes, &name, 1, err);
    if (!rc && !name.is_present)
        rc = err_set(err, ERR_INVALID, "\"name\" is missing");
    if (rc)
        return rc;
    *handler->held = sessions_of_capture(handler->sessions, name.text);
    if (*handler->held)
        return api_send_held(handler, 200, response, err);
    rc = dashboard_launch_capture(handler->dashboard, name.text, handler->held, err);
    if (rc == ERR_LIMIT) {
        response_problem(response, 409, "%s", err->message);
        return ERR_OK;
    }
    return rc ? rc : api_send_held(handler, 202, response, err);
}

enum { PATCH_TITLE, PATCH_NOTE, PATCH_LABELS, PATCH_MEMBERS };

static void take_words(void *context, const struct capture_entry *entry)
{
    struct capture_words *const words = context;
    *words = entry->words;
}

static enum err_code change_words(const struct request *request, struct capture_words *words,
                                  struct err *err)
{
    char labels[CAPTURES_MAX_LABELS][BODY_MAX_WORD + 1] = { { 0 } };
    struct body_member members[PATCH_MEMBERS] = {
        [PATCH_TITLE] = { .name = "title" },
        [PATCH_NOTE] = { .name = "note" },
        [PATCH_LABELS] = { .name = "labels",
                           .kind = BODY_WORDS,
                           .words = labels,
                           .room = CAPTURES_MAX_LABELS },
    };
    const enum err_code rc =
        body_read(request->body, request->body_bytes, members, PATCH_MEMBERS, err);
    if (rc)
        return rc;
    if (strlen(members[PATCH_TITLE].text) > SESSION_MAX_NAME)
        return err_set(err, ERR_INVALID, "\"title\" must have at most %d bytes",
                       SESSION_MAX_NAME);
    if (strlen(members[PATCH_NOTE].text) > SESSION_MAX_NOTE)
        return err_set(err, ERR_INVALID, "\"note\" must have at most %d bytes",
                       SESSION_MAX_NOTE);
    if (members[PATCH_TITLE].is_present)
        memcpy(words->title, members[PATCH_TITLE].text, sizeof words->title);
    if (members[PATCH_NOTE].is_present)
        memcpy(words->note, members[PATCH_NOTE].text, sizeof words->note);
    if (members[PATCH_LABELS].is_present) {
        memcpy(words->labels, labels, sizeof labels);
        words->label_count = members[PATCH_LABELS].count;
    }
    return ERR_OK;
}

enum err_code api_change_capture(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct captures *captures = NULL;
    struct capture_words words;
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = captures_tell_one(captures, handler->argument, take_words, &words, err);
    if (!rc)
        rc = change_words(handler->request, &words, err);
    if (!rc)
        rc = captures_describe(captures, handler->argument, &words, err);
    return rc ? rc : send_one(handler, captures, handler->argument, response, err);
}

enum err_code api_delete_capture(const struct handler_context *handler,
                                 struct response *response, struct err *err)
{
    struct captures *captures = NULL;
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = captures_remove(captures, handler->argument, err);
    if (rc == ERR_LIMIT) {
        response_problem(response, 409, "%s", err->message);
        return ERR_OK;
    }
    if (!rc)
        response->status = 204;
    return rc;
}

enum err_code api_get_capture_file(const struct handler_context *handler,
                                   struct response *response, struct err *err)
{
    struct captures *captures = NULL;
    uint64_t bytes = 0, changed_ns = 0;
    int fd = -1;
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = captures_check_file(captures, handler->argument, err);
    if (!rc)
        rc = captures_open_file(captures, handler->argument, &fd, &bytes, &changed_ns, err);
    if (rc)
        return rc;
    snprintf(response->tag, sizeof response->tag, "file-%" PRIx64 "-%" PRIx64, bytes,
             changed_ns);
    response_own_file(response, "application/octet-stream", fd, bytes);
    response_set_header(response, "Content-Disposition", "attachment; filename=\"%s.pyro\"",
                        handler->argument);
    return ERR_OK;
}

enum err_code api_put_capture(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct captures *captures = NULL;
    struct capture_words words = { .label_count = 0 };
    struct query query;
    char name[CAPTURES_NAME_BYTES];
    enum err_code rc = captures_of(handler, &captures, err);
    if (!rc)
        rc = query_read(handler->request, QUERY_TITLE, &query, err);
    if (!rc && query.title && strlen(query.title) > SESSION_MAX_NAME)
        rc =
            err_set(err, ERR_INVALID, "\"title\" must have at most %d bytes", SESSION_MAX_NAME);
    if (!rc && handler->request->body_fd < 0)
        rc = err_set(err, ERR_INVALID, "the body is missing");
    if (rc)
        return rc;
    if (query.title)
        snprintf(words.title, sizeof words.title, "%s", query.title);
    rc = captures_adopt(captures, handler->request->body_fd, &words, name, err);
    /* The file that was sent is no capture. */
    if (rc == ERR_UNSUPPORTED || rc == ERR_CORRUPT || rc == ERR_INVALID) {
        response_problem(response, 422, "%s", err->message);
        return ERR_OK;
    }
    if (!rc)
        rc = send_one(handler, captures, name, response, err);
    if (rc)
        return rc;
    response->status = 201;
    response_set_header(response, "Location", "%s/api/v1/captures/%s", handler->auth->base_path,
                        name);
    return ERR_OK;
}
