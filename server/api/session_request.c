#include "server/api/session_request.h"

#include "sampler/sampler.h"
#include "server/api/handler_context.h"
#include "server/sessions/sessions.h"

enum err_code look_begin(struct look *look, const struct call *call, unsigned accepted,
                         struct err *err)
{
    enum err_code rc = call_session(call, &look->session, err);
    if (rc == ERR_OK)
        rc = query_read(call->request, accepted, &look->query, err);
    if (rc == ERR_OK)
        rc = profile_snapshot(session_profile(look->session), &look->snapshot, err);
    if (rc == ERR_OK && look->query.view.since > look->snapshot.generation)
        look->query.view.since = 0;
    return rc;
}

void look_end(struct look *look)
{
    profile_snapshot_release(&look->snapshot);
}

bool look_is_fresh(const struct look *look, const struct call *call, struct response *response)
{
    return call_is_fresh(call, response, look->session->epoch, look->snapshot.generation,
                         query_hash(&look->query));
}

enum err_code look_answer(const struct call *call, unsigned accepted,
                          enum err_code (*answer)(const struct look *look,
                                                  struct response *response, struct err *err),
                          struct response *response, struct err *err)
{
    struct look look;
    enum err_code rc = look_begin(&look, call, accepted, err);
    if (rc != ERR_OK)
        return rc;
    if (!look_is_fresh(&look, call, response))
        rc = answer(&look, response, err);
    look_end(&look);
    return rc;
}
