/*
 * instructions - what the lines of a file executed, as columns of JSON.
 *
 *     {"path": "/srv/app.py", "names": ["CALL", "CALL_PY_EXACT_ARGS"], "line": [12], "end_line": [12],
 *      "column": [4], "end_column": [19], "opcode": [1], "base_opcode": [0], "self": [3], "total": [40], "omitted": 0}
 *
 * A row a place and instruction, by line, then most frequent first.  opcode and base number
 * names; columns are UTF-8 bytes from the start of the line, -1 where they are not known.
 *
 * Limits: the caller's, on rows; those with the fewest samples are left out, and counted.
 * Depends on: hotlines, profile, json.
 */
#ifndef SERVER_REPORT_INSTRUCTIONS_H
#define SERVER_REPORT_INSTRUCTIONS_H

#include <stddef.h>

#include "sampler/base/err.h"

struct hotfile;
struct hotlines;
struct json;
struct profile_snapshot;

/* Members of an object that is open; rows_out: how many rows it wrote. */
MUST_CHECK enum err_code instructions_write(struct json *json,
                                            const struct profile_snapshot *snapshot,
                                            const struct hotlines *hot,
                                            const struct hotfile *file, size_t most,
                                            size_t *rows_out, struct err *err);

#endif /* SERVER_REPORT_INSTRUCTIONS_H */
