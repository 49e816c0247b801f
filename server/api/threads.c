#include "sampler/profile/profile.h"
#include "sampler/profile/states.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/call.h"
#include "server/query.h"
#include "server/sessions.h"
#include "server/wire/states.h"

static void write_threads(struct json *json, const char *epoch, uint32_t since,
                          const struct states *states)
{
    json_object(json);
    json_key(json, "epoch");
    json_text(json, epoch);
    json_key(json, "generation");
    json_uint(json, states->generation);
    json_key(json, "since");
    json_uint(json, since);
    json_key(json, "all");
    states_write_sums(json, &states->all);
    json_key(json, "threads");
    states_write_threads(json, states);
    json_end(json);
}

static enum err_code answer(const struct call *call, const struct session *session,
                            const struct profile_snapshot *snapshot, struct query *query,
                            struct response *response, struct err *err)
{
    struct document document;
    struct states states;
    query->view.since = profile_snapshot_since(snapshot, query->view.since);
    if (call_is_fresh(call, response, session->epoch, snapshot->generation, query_hash(query)))
        return ERR_OK;
    const enum err_code rc = states_init(&states, snapshot, &query->view, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_threads(&document.json, session->epoch, query->view.since, &states);
    states_deinit(&states);
    return document_send(&document, response, err);
}

enum err_code api_get_threads(const struct call *call, struct response *response,
                              struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct query query;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = query_read(call->request, QUERY_SINCE | QUERY_FROM | QUERY_TO | QUERY_STATE,
                        &query, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(sampler_profile(session->sampler), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(call, session, &snapshot, &query, response, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
