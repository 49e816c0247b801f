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
struct kept_rows;
struct view_query;

enum { REQUESTS_USUAL_ROWS = 100 };

/* A document without a server has the slowest requests, some of each bin of the histogram besides, and the pieces of few. */
enum {
    REQUESTS_EMBEDDED_ROWS = 50,
    REQUESTS_EMBEDDED_OF_BIN = 4,
    REQUESTS_EMBEDDED_WATERFALLS = 20,
    REQUESTS_EMBEDDED_PIECES = 100,
};

/* Writes the members after `generation`, into an open object: of the requests in the time of the query, and `rows` of
 * those that it chooses besides.  mark: of the request whose pieces are written; 0: of none. */
MUST_CHECK enum err_code requests_write(struct json *json,
                                        const struct profile_snapshot *snapshot,
                                        const struct view_query *query, size_t rows,
                                        function_id mark, struct err *err);

/* Writes the member `requests`, if there are any: what requests_write does but pieces, and `waterfalls`, an array of
 * {mark, pieces_left_out, pieces}. */
MUST_CHECK enum err_code requests_write_embedded(struct json *json,
                                                 const struct profile_snapshot *snapshot,
                                                 const struct view_query *query,
                                                 struct err *err);

/* Writes the member `request_durations`, if there are any: {function: marks of values that are kept, ns}. */
MUST_CHECK enum err_code requests_write_durations(struct json *json,
                                                  const struct profile_snapshot *snapshot,
                                                  const struct kept_rows *kept,
                                                  struct err *err);

#endif /* SERVER_WIRE_REQUESTS_H */
