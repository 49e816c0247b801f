#include "server/call.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/encoding.h"
#include "server/etag.h"
#include "server/request.h"
#include "server/response.h"
#include "server/sessions.h"

enum err_code call_session(const struct call *call, struct session **out, struct err *err)
{
    struct session *const session = sessions_find(call->sessions, call->argument);
    if (!session)
        return err_set(err, ERR_NOT_FOUND, "no session %s", call->argument);
    *call->held = session;
    *out = session;
    return ERR_OK;
}

enum err_code call_dashboard(const struct call *call, struct dashboard **out, struct err *err)
{
    if (!call->dashboard)
        return err_set(err, ERR_NOT_FOUND,
                       "this server shows given sessions only; pyrometer serve has all of "
                       "the host");
    *out = call->dashboard;
    return ERR_OK;
}

bool call_is_fresh(const struct call *call, struct response *response, const char *epoch,
                   uint32_t generation, uint64_t query_hash)
{
    snprintf(response->tag, sizeof response->tag, "%s-%" PRIu32 "-%016" PRIx64, epoch,
             generation, query_hash);
    return response_is_fresh(response, call->request);
}
