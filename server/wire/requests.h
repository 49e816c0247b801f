/*
 * requests - the Requests document of openapi.json: durations of what threads worked for.
 */
#ifndef SERVER_WIRE_REQUESTS_H
#define SERVER_WIRE_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"

struct json;
struct view_query;

enum { REQUESTS_USUAL_ROWS = 100 };

/* Writes the members after `generation`, into an open object: of the requests in the time of the query, and `rows` of
 * those that it chooses besides.  mark: of the request whose pieces are written; 0: of none. */
MUST_CHECK enum err_code requests_write(struct json *json,
                                        const struct profile_snapshot *snapshot,
                                        const struct view_query *query, size_t rows,
                                        function_id mark, struct err *err);

#endif /* SERVER_WIRE_REQUESTS_H */
