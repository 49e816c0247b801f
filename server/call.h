/*
 * call - what a handler is given: the request and what it may look at.
 *
 * Depends on: request, response.
 */
#ifndef SERVER_CALL_H
#define SERVER_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct auth;
struct identity;
struct page;
struct request;
struct response;
struct session;
struct sessions;

struct call {
    const struct request *request;
    struct sessions *sessions;
    const struct page *page;
    const struct auth *auth;
    const struct identity *who; /* that asks */
    char argument[32];          /* what stood for the * of the route */
};

/* ERR_NOT_FOUND, with a sentence for the client. */
MUST_CHECK enum err_code call_session(const struct call *call, struct session **out,
                                      struct err *err);

/* Names the content by what it is made from.  True: the client has it, and the handler need not
 * make it. */
bool call_is_fresh(const struct call *call, struct response *response, const char *epoch,
                   uint32_t generation, uint64_t query_hash);

#endif /* SERVER_CALL_H */
