#include "sampler/profile/view.h"

#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/call.h"
#include "server/query.h"
#include "server/sessions.h"

static void write_view(struct json *json, const char *epoch, uint32_t generation,
                       uint32_t since, const struct view *view)
{
    json_object(json);
    json_key(json, "epoch");
    json_text(json, epoch);
    json_key(json, "generation");
    json_uint(json, generation);
    json_key(json, "since");
    json_uint(json, since);
    json_key(json, "total");
    json_uint(json, view->total);
    json_key(json, "node");
    json_array(json);
    for (size_t i = 0; i < view->count; i++)
        json_uint(json, view->node[i]);
    json_end(json);
    json_key(json, "self");
    json_array(json);
    for (size_t i = 0; i < view->count; i++)
        json_uint(json, view->self[i]);
    json_end(json);
    json_end(json);
}

static enum err_code answer(const struct call *call, const struct session *session,
                            const struct profile_snapshot *snapshot, struct query *query,
                            struct response *response, struct err *err)
{
    struct document document;
    struct view view;
    query->view.since = profile_snapshot_since(snapshot, query->view.since);
    if (call_is_fresh(call, response, session->epoch, snapshot->generation, query_hash(query)))
        return ERR_OK;
    const enum err_code rc = view_init(&view, snapshot, &query->view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_view(&document.json, session->epoch, snapshot->generation, query->view.since, &view);
    view_deinit(&view);
    return document_send(&document, response, err);
}

enum err_code api_get_view(const struct call *call, struct response *response, struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct query query;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = query_read(call->request, QUERY_SINCE | QUERY_VIEW, &query, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(sampler_profile(session->sampler), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(call, session, &snapshot, &query, response, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
