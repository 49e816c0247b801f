#include "server/wire/quality.h"

#include "sampler/profile/profile.h"
#include "sampler/profile/states.h"
#include "sampler/profile/view.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/call.h"
#include "server/query.h"
#include "server/sessions.h"
#include "server/usage.h"
#include "server/wire/session.h"

static enum err_code answer(struct session *session, const struct profile_snapshot *snapshot,
                            struct response *response, struct err *err)
{
    const struct view_query everything = { 0 };
    struct document document;
    struct session_facts facts;
    struct states states;
    struct usage usage;
    const enum err_code rc = states_init(&states, snapshot, &everything, err);
    if (rc != ERR_OK)
        return rc;
    session_describe(session, snapshot, &facts);
    document_begin(&document);
    usage_read(&usage);
    quality_write(&document.json, &facts, &states.all, &usage);
    states_deinit(&states);
    return document_send(&document, response, err);
}

enum err_code api_get_quality(const struct call *call, struct response *response,
                              struct err *err)
{
    struct session *session = NULL;
    struct profile_snapshot snapshot;
    struct query query;
    enum err_code rc = call_session(call, &session, err);
    if (rc == ERR_OK)
        rc = query_read(call->request, 0, &query, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(sampler_profile(session->sampler), &snapshot, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(session, &snapshot, response, err);
    profile_snapshot_release(&snapshot);
    return rc;
}
