#include <pthread.h>
#include <string.h>

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
#include "server/wire/range_notes.h"

enum { POST_FROM, POST_TO, POST_TEXT, POST_MEMBERS };

/* So that the file beside a capture has the newest notes. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* The capture of a session outlives it, and keeps its notes. */
static enum err_code keep_notes(const struct handler_context *handler,
                                struct session_entry *entry, struct err *err)
{
    struct captures *const captures = handler->dashboard ? handler->dashboard->captures : NULL;
    struct session_words words;
    struct range_notes notes;
    session_entry_words(entry, &words);
    if (!captures || !*words.capture)
        return ERR_OK;
    session_entry_notes(entry, &notes);
    const enum err_code rc = captures_write_notes(captures, words.capture, &notes, err);
    return rc == ERR_NOT_FOUND ? ERR_OK : rc;
}

enum err_code api_add_note(const struct handler_context *handler, struct response *response,
                           struct err *err)
{
    struct body_member members[POST_MEMBERS] = {
        [POST_FROM] = { .name = "from_s", .kind = BODY_NUMBER },
        [POST_TO] = { .name = "to_s", .kind = BODY_NUMBER },
        [POST_TEXT] = { .name = "text" },
    };
    struct session_entry *entry = NULL;
    struct range_note note;
    enum err_code rc = handler_session(handler, &entry, err);
    if (!rc)
        rc = query_read_none(handler->request, err);
    if (!rc)
        rc = body_read(handler->request->body, handler->request->body_bytes, members,
                       POST_MEMBERS, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&changing);
    rc = session_entry_add_note(entry, members[POST_FROM].number, members[POST_TO].number,
                                members[POST_TEXT].text, &note, err);
    if (!rc)
        rc = keep_notes(handler, entry, err);
    pthread_mutex_unlock(&changing);
    if (rc == ERR_LIMIT) {
        response_problem(response, 409, "%s", err->message);
        return ERR_OK;
    }

    if (rc)
        return rc;

    struct document document;
    document_begin(&document);
    range_note_write(&document.json, &note);
    response->status = 201;
    return document_send(&document, response, err);
}

enum err_code api_remove_note(const struct handler_context *handler, struct response *response,
                              struct err *err)
{
    struct session_entry *entry = NULL;
    struct query query;
    enum err_code rc = handler_session(handler, &entry, err);
    if (!rc)
        rc = query_read(handler->request, QUERY_NOTE, &query, err);
    if (!rc && query.note == 0)
        rc = err_set(err, ERR_INVALID, "parameter \"note\" is missing");
    if (rc)
        return rc;
    pthread_mutex_lock(&changing);
    if (session_entry_remove_note(entry, query.note))
        rc = keep_notes(handler, entry, err);
    else
        rc = err_set(err, ERR_NOT_FOUND, "session %s has no note %u", entry->id, query.note);
    pthread_mutex_unlock(&changing);
    if (!rc)
        response->status = 204;
    return rc;
}
