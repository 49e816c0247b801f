/*
 * look - what most routes of a session begin with: the session, the query, and a snapshot of the
 * profile as it is now.
 *
 *     return session_request_answer(call, QUERY_SINCE, answer, response, err);
 *
 * is, where the answer needs nothing before it is known whether the client has it:
 *
 *     struct look look;
 *     enum err_code rc = session_request_begin(&look, call, QUERY_SINCE, err);
 *     if (rc != ERR_OK)
 *         return rc;
 *     if (!session_request_is_fresh(&look, call, response))
 *         rc = answer(&look, response, err);
 *     session_request_end(&look);
 *     return rc;
 *
 * Ownership: the caller's storage, which must not move (query.h); session_request_end gives the snapshot
 * back, once, and only after a session_request_begin that went well.
 * Depends on: call, query, sessions, sampler, profile.
 */
#ifndef SERVER_API_SESSION_REQUEST_H
#define SERVER_API_SESSION_REQUEST_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/api/query.h"

struct handler_context;
struct response;
struct session;

struct session_request {
    struct session *session;
    struct query query;
    struct profile_snapshot snapshot;
};

/* accepted: the parameters that the route takes (query.h).  ERR_NOT_FOUND: no such session;
 * ERR_INVALID: a parameter is none.  A `since` that is ahead of the snapshot is of another run,
 * and becomes 0. */
MUST_CHECK enum err_code session_request_begin(struct session_request *asked,
                                               const struct handler_context *handler,
                                               unsigned accepted, struct err *err);
void session_request_end(struct session_request *asked);

/* Names the answer by run, generation and query.  True: the client has it, and it need not be
 * made. */
bool session_request_is_fresh(const struct session_request *asked,
                              const struct handler_context *handler, struct response *response);

/* All of a route: what `answer` makes of the look, unless the client has it. */
MUST_CHECK enum err_code session_request_answer(
    const struct handler_context *handler, unsigned accepted,
    enum err_code (*answer)(const struct session_request *asked, struct response *response,
                            struct err *err),
    struct response *response, struct err *err);

#endif /* SERVER_API_SESSION_REQUEST_H */
