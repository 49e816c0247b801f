/*
 * handler_context - what a handler is given: the request, who sent it, and what it may use.
 */
#ifndef SERVER_API_HANDLER_CONTEXT_H
#define SERVER_API_HANDLER_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct response_cache;
struct auth;
struct identity;
struct dashboard;
struct headlines;
struct push_counters;
struct request;
struct route;
struct response;
struct session_options;
struct session_entry;
struct sessions;
struct source_links;
struct traffic;
struct audit;

struct handler_context {
    const struct request *request;
    struct sessions *sessions;
    const struct auth *auth;
    const struct identity *who; /* who sent the request */
    const struct traffic *traffic;
    const struct route *(*route_at)(size_t index); /* routes_at */
    const struct audit *audit;
    const struct source_links *links;
    const struct push_counters *push_counters; /* NULL: profiles are not pushed */
    struct dashboard *dashboard;  /* NULL: this server shows only its own sessions */
    struct response_cache *cache; /* NULL: none */
    struct headlines *headlines;  /* of the list of processes */
    struct session_entry **held;  /* what handler_session found; released after the handler */
    bool *is_put_off;  /* set if the answer is still to be made; NULL: it is made now */
    char argument[32]; /* the segment that matched the * of the route */
};

/* True if the caller may see the session: a shared link may be for another one only. */
bool handler_sees(const struct handler_context *handler, const struct session_entry *entry);

/* ERR_NOT_FOUND: no such session.  Call it once; the session is held until the handler returns. */
MUST_CHECK enum err_code handler_session(const struct handler_context *handler,
                                         struct session_entry **out, struct err *err);

/* ERR_NOT_FOUND: this server has no dashboard. */
MUST_CHECK enum err_code handler_dashboard(const struct handler_context *handler,
                                           struct dashboard **out, struct err *err);

/* Sets the ETag from what the answer depends on.  True: nothing more is to be done, because the client
 * has the answer already, the cache does, or it is put off. */
bool handler_is_fresh(const struct handler_context *handler, struct response *response,
                      const char *epoch, uint32_t generation, uint64_t query_hash);

#endif /* SERVER_API_HANDLER_CONTEXT_H */
