#include "server/sessions.h"

#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/body.h"
#include "server/call.h"
#include "server/query.h"
#include "server/request.h"
#include "server/response.h"
#include "server/wire/session.h"

static enum err_code write_session(struct json *json, struct session *session, struct err *err)
{
    struct profile_snapshot snapshot;
    struct session_facts facts;
    const enum err_code rc = profile_snapshot(session_profile(session), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(session, &snapshot, &facts);
    session_write(json, &facts);
    profile_snapshot_release(&snapshot);
    return ERR_OK;
}

static enum err_code write_list(struct json *json, struct sessions *sessions, struct err *err)
{
    enum err_code rc = ERR_OK;
    struct session *session = NULL;
    json_object(json);
    json_key(json, "sessions");
    json_array(json);
    for (size_t i = 0; rc == ERR_OK && (session = sessions_at(sessions, i)); i++)
        rc = write_session(json, session, err);
    json_end(json);
    json_end(json);
    return rc;
}

static enum err_code send_or_drop(struct document *document, enum err_code rc,
                                  struct response *response, struct err *err)
{
    if (rc == ERR_OK)
        return document_send(document, response, err);
    buffer_deinit(&document->buffer);
    return rc;
}

static enum err_code accept_no_query(const struct call *call, struct err *err)
{
    struct query query;
    return query_read(call->request, 0, &query, err);
}

enum err_code api_list_sessions(const struct call *call, struct response *response,
                                struct err *err)
{
    struct document document;
    const enum err_code rc = accept_no_query(call, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    return send_or_drop(&document, write_list(&document.json, call->sessions, err), response,
                        err);
}

static enum err_code send_session(struct session *session, struct response *response,
                                  struct err *err)
{
    struct document document;
    document_begin(&document);
    return send_or_drop(&document, write_session(&document.json, session, err), response, err);
}

enum err_code api_get_session(const struct call *call, struct response *response,
                              struct err *err)
{
    struct session *session = NULL;
    enum err_code rc = accept_no_query(call, err);
    if (rc == ERR_OK)
        rc = call_session(call, &session, err);
    return rc == ERR_OK ? send_session(session, response, err) : rc;
}

static bool is_over(struct session *session)
{
    struct sampler_status status;
    if (!session->sampler)
        return true;
    sampler_status(session->sampler, &status);
    return status.state == SAMPLER_ENDED || status.state == SAMPLER_FAILED;
}

static enum err_code change_state(struct session *session, const char *state, struct err *err)
{
    if (strcmp(state, "paused") == 0)
        sampler_pause(session->sampler, true);
    else if (strcmp(state, "running") == 0)
        sampler_pause(session->sampler, false);
    else if (strcmp(state, "ended") == 0)
        sampler_stop(session->sampler);
    else
        return err_set(err, ERR_INVALID, "\"state\" is paused, running or ended");
    return ERR_OK;
}

enum err_code api_change_session(const struct call *call, struct response *response,
                                 struct err *err)
{
    struct body_member state = { .name = "state" };
    struct session *session = NULL;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = body_read(call->request->body, call->request->body_bytes, &state, 1, err);
    if (rc == ERR_OK && is_over(session)) {
        response_problem(response, 409, "session %s has ended", session->id);
        return ERR_OK;
    }
    if (rc == ERR_OK && state.is_present)
        rc = change_state(session, state.text, err);
    return rc == ERR_OK ? send_session(session, response, err) : rc;
}
