#include "server/wire/tree.h"

#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/call.h"
#include "server/query.h"
#include "server/sessions.h"

static enum err_code answer(const struct call *call, const struct session *session,
                            const struct profile_snapshot *snapshot, struct query *query,
                            struct response *response, struct err *err)
{
    struct document document;
    /* A client that is ahead of us holds another run's tables. */
    if (query->view.since > snapshot->generation)
        query->view.since = 0;
    if (call_is_fresh(call, response, session->epoch, snapshot->generation, query_hash(query)))
        return ERR_OK;
    document_begin(&document);
    tree_write(&document.json, snapshot, session->epoch, query->view.since);
    return document_send(&document, response, err);
}

enum err_code api_get_tree(const struct call *call, struct response *response, struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct query query;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = query_read(call->request, QUERY_SINCE, &query, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(sampler_profile(session->sampler), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(call, session, &snapshot, &query, response, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
