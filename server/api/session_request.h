/*
 * look - what most routes of a session begin with: the session, the query, and a snapshot of the
 * profile as it is now.
 *
 *     return look_answer(call, QUERY_SINCE, answer, response, err);
 *
 * is, where the answer needs nothing before it is known whether the client has it:
 *
 *     struct look look;
 *     enum err_code rc = look_begin(&look, call, QUERY_SINCE, err);
 *     if (rc != ERR_OK)
 *         return rc;
 *     if (!look_is_fresh(&look, call, response))
 *         rc = answer(&look, response, err);
 *     look_end(&look);
 *     return rc;
 *
 * Ownership: the caller's storage, which must not move (query.h); look_end gives the snapshot
 * back, once, and only after a look_begin that went well.
 * Depends on: call, query, sessions, sampler, profile.
 */
#ifndef SERVER_API_SESSION_REQUEST_H
#define SERVER_API_SESSION_REQUEST_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/api/query.h"

struct call;
struct response;
struct session;

struct look {
    struct session *session;
    struct query query;
    struct profile_snapshot snapshot;
};

/* accepted: the parameters that the route takes (query.h).  ERR_NOT_FOUND: no such session;
 * ERR_INVALID: a parameter is none.  A `since` that is ahead of the snapshot is of another run,
 * and becomes 0. */
MUST_CHECK enum err_code look_begin(struct look *look, const struct call *call,
                                    unsigned accepted, struct err *err);
void look_end(struct look *look);

/* Names the answer by run, generation and query.  True: the client has it, and it need not be
 * made. */
bool look_is_fresh(const struct look *look, const struct call *call, struct response *response);

/* All of a route: what `answer` makes of the look, unless the client has it. */
MUST_CHECK enum err_code look_answer(const struct call *call, unsigned accepted,
                                     enum err_code (*answer)(const struct look *look,
                                                             struct response *response,
                                                             struct err *err),
                                     struct response *response, struct err *err);

#endif /* SERVER_API_SESSION_REQUEST_H */
