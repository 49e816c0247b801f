/*
 * instructions - the bytecode instructions of a file, as columns of JSON.
 *
 *     {"path": "/srv/app.py", "names": ["CALL", "CALL_PY_EXACT_ARGS"], "line": [12], "end_line": [12],
 *      "column": [4], "end_column": [19], "opcode": [1], "base_opcode": [0], "self": [3], "total": [40], "omitted": 0}
 *
 * One row for each place and instruction, by line, then most frequent first.  opcode and base_opcode
 * are indices of names.  Columns are UTF-8 bytes from the start of the line; -1: unknown.
 *
 * Limits: `most` rows; those with the fewest samples are left out and counted in `omitted`.
 */
#ifndef SERVER_REPORT_INSTRUCTIONS_H
#define SERVER_REPORT_INSTRUCTIONS_H

#include <stddef.h>

#include "sampler/base/err.h"

struct hotfile;
struct hotlines;
struct json;
struct profile_snapshot;

/* Writes the members of an open object.  rows_out: the number of rows written. */
MUST_CHECK enum err_code instructions_write(struct json *json,
                                            const struct profile_snapshot *snapshot,
                                            const struct hotlines *hot,
                                            const struct hotfile *file, size_t most,
                                            size_t *rows_out, struct err *err);

#endif /* SERVER_REPORT_INSTRUCTIONS_H */
