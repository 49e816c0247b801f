#include "server/api/handler_context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/session.h"
#include "server/access/auth.h"
#include "server/http/encoding.h"
#include "server/http/etag.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/http/response_cache.h"
#include "server/sessions/sessions.h"

bool handler_sees(const struct handler_context *handler, const struct session_entry *entry)
{
    const struct share_scope *const shared = &handler->who->shared;
    return handler->who->scope > SCOPE_SESSION || (strcmp(shared->session, entry->id) == 0 &&
                                                   strcmp(shared->epoch, entry->epoch) == 0);
}

enum err_code handler_session(const struct handler_context *handler, struct session_entry **out,
                              struct err *err)
{
    struct session_entry *entry = sessions_find(handler->sessions, handler->argument);
    if (entry && !handler_sees(handler, entry)) {
        session_release(entry);
        entry = NULL;
    }
    if (!entry)
        return err_set(err, ERR_NOT_FOUND, "no session %s", handler->argument);
    *handler->held = entry;
    *out = entry;
    return ERR_OK;
}

enum err_code handler_dashboard(const struct handler_context *handler, struct dashboard **out,
                                struct err *err)
{
    if (!handler->dashboard)
        return err_set(
            err, ERR_NOT_FOUND,
            "this server shows only its own sessions: start pyrometer serve for the whole host");
    *out = handler->dashboard;
    return ERR_OK;
}

bool handler_is_fresh(const struct handler_context *handler, struct response *response,
                      const char *epoch, uint32_t generation, uint64_t query_hash)
{
    snprintf(response->tag, sizeof response->tag, "%s-%" PRIu32 "-%016" PRIx64, epoch,
             generation, query_hash);
    if (response_is_fresh(response, handler->request))
        return true;
    response->is_shared = true;
    response->is_viewers = handler->who->scope < SCOPE_OPERATOR;
    if (handler->cache && response_cache_take(handler->cache, handler->request, response)) {
        response->is_shared = false;
        return true;
    }
    if (handler->is_put_off)
        *handler->is_put_off = true;
    return handler->is_put_off != NULL;
}
