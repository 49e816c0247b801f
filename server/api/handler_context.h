/*
 * call - what a handler is given: the request and what it may look at.
 *
 * Depends on: request, response.
 */
#ifndef SERVER_API_HANDLER_CONTEXT_H
#define SERVER_API_HANDLER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct admission;
struct response_cache;
struct auth;
struct identity;
struct dashboard;
struct page;
struct request;
struct response;
struct sampler_options;
struct session;
struct sessions;
struct traffic;

struct handler_context {
    const struct request *request;
    struct sessions *sessions;
    const struct page *page;
    const struct auth *auth;
    const struct identity *who; /* that asks */
    const struct admission *admission;
    const struct traffic *traffic;
    struct dashboard *dashboard;  /* NULL: this server is of given sessions only */
    struct response_cache *cache; /* that were made for others; NULL: none */
    struct session **held;        /* what handler_session found: released after the handler */
    char argument[32];            /* what stood for the * of the route */
};

/* The session is not hidden from who asks: a shared link may be for another one only. */
bool handler_sees(const struct handler_context *handler, const struct session *session);

/* ERR_NOT_FOUND, with a sentence for the client.  Once a call; it is held until the call ends. */
MUST_CHECK enum err_code handler_session(const struct handler_context *handler,
                                         struct session **out, struct err *err);

/* ERR_NOT_FOUND: this server has none. */
MUST_CHECK enum err_code handler_dashboard(const struct handler_context *handler,
                                           struct dashboard **out, struct err *err);

/* ERR_PERM: not all of these processes may be looked at here (admission.h). */
MUST_CHECK enum err_code handler_admit(const struct handler_context *handler,
                                       const struct sampler_options *options, struct err *err);

/* Names the content by what it is made from.  True: the handler need not make it, as the client
 * has it, or as somebody else asked for the same. */
bool handler_is_fresh(const struct handler_context *handler, struct response *response,
                      const char *epoch, uint32_t generation, uint64_t query_hash);

#endif /* SERVER_API_HANDLER_CONTEXT_H */
