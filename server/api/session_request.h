/*
 * session_request - what most routes of a session need: the session, the query, and a snapshot of
 * its profile.
 *
 *     return session_request_answer(handler, QUERY_SINCE, write, response, err);
 *
 * is short for:
 *
 *     struct session_request asked;
 *     const enum err_code rc = session_request_begin(&asked, handler, QUERY_SINCE, err);
 *     return rc ? rc : session_request_finish(&asked, handler, write, response, err);
 *
 * Ownership: the caller's storage, which must not move (query.h); call
 * session_request_end once, after a session_request_begin that succeeded.
 */
#ifndef SERVER_API_SESSION_REQUEST_H
#define SERVER_API_SESSION_REQUEST_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/request_choice.h"
#include "server/api/query.h"
#include "server/wire/session.h"

struct handler_context;
struct json;
struct response;
struct session_entry;
struct source_links;

struct session_request {
    struct session_entry *entry;
    char epoch[SESSION_EPOCH_BYTES];
    struct query query;
    struct profile_snapshot snapshot;
    struct request_set requests; /* that the query chooses; zeroed: all samples */
    const struct source_links *links;
};

/* accepted: the parameters that the route takes (query.h).  With QUERY_MEASURE, the snapshot is of the measure that was
 * asked for, or of the only one of the session.  ERR_NOT_FOUND: no such session;
 * ERR_INVALID: a bad parameter.  A `since` later than the snapshot belongs to
 * another run and becomes 0; so does one of chosen requests, as these change while they last. */
MUST_CHECK enum err_code session_request_begin(struct session_request *asked,
                                               const struct handler_context *handler,
                                               unsigned accepted, struct err *err);
void session_request_end(struct session_request *asked);
/* Takes a snapshot of another measure. */
MUST_CHECK enum err_code session_request_count(struct session_request *asked,
                                               enum measure measure, struct err *err);

/* handler_is_fresh, by run, generation and query. */
bool session_request_is_fresh(const struct session_request *asked,
                              const struct handler_context *handler, struct response *response);

/* Writes the members of a document that begins with `epoch` and `generation`. */
typedef enum err_code session_request_write(const struct session_request *asked,
                                            struct json *json, struct err *err);

/* Answers with the document, unless the client or the cache has it; ends the request. */
MUST_CHECK enum err_code session_request_finish(struct session_request *asked,
                                                const struct handler_context *handler,
                                                session_request_write *write,
                                                struct response *response, struct err *err);
/* The whole route. */
MUST_CHECK enum err_code session_request_answer(const struct handler_context *handler,
                                                unsigned accepted, session_request_write *write,
                                                struct response *response, struct err *err);

#endif /* SERVER_API_SESSION_REQUEST_H */
