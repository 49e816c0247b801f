/*
 * split - one file per process instead of one for all (--split).
 *
 * The process id follows the name: profile.html becomes profile_4711.html.
 *
 * Ownership: the caller's storage; split_deinit accepts a zeroed one.
 */
#ifndef SERVER_COMMAND_OUTPUT_SPLIT_H
#define SERVER_COMMAND_OUTPUT_SPLIT_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct profile_snapshot;
struct view_query;

struct split {
    uint32_t *processes; /* rows, grouped by pid */
    struct split_part {
        int pid;
        size_t first, count; /* of the rows */
    } * parts;
    size_t count;
};

/* The processes that have samples in the query. */
MUST_CHECK enum err_code split_init(struct split *split,
                                    const struct profile_snapshot *snapshot,
                                    const struct view_query *query, struct err *err);
void split_deinit(struct split *split);

/* extension: of the format, without its dot.  If the name does not end in it, the extension is the
 * text after the last dot.  ERR_SYS: the name is too long. */
MUST_CHECK enum err_code split_name(const char *name, const char *extension, int pid,
                                    char out[PATH_MAX], struct err *err);

#endif /* SERVER_COMMAND_OUTPUT_SPLIT_H */
