/*
 * before_after - the parts of captures before and after an instant: of a service, that is when it was deployed.
 *
 * The instant is a time, a version of the service (when a process of it started first), or "last" (when a process of it started
 * last).  As much time is taken before it as after it, and what two captures have of one process is taken once.
 *
 * Ownership: before_after_deinit frees; accepts a zeroed one.  Paths are borrowed from the options.
 * Limits: COMPARISON_MAX_CAPTURES parts on a side.
 */
#ifndef SERVER_COMMAND_OUTPUT_BEFORE_AFTER_H
#define SERVER_COMMAND_OUTPUT_BEFORE_AFTER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "server/report/diff/comparison.h"

struct options;

struct before_after_part {
    const char *path;
    uint64_t from_ns, to_ns; /* since the capture began */
    uint64_t end_ns;         /* to_ns, since 1970 */
    pid_t *pids;             /* of the service; NULL: all processes */
    size_t pid_count;
};

struct before_after {
    struct before_after_part parts[2 * COMPARISON_MAX_CAPTURES]; /* those before it first */
    size_t count, baseline_count;
    uint64_t instant_ns, span_ns; /* since 1970; how much there is on each side */
};

/* Finds the captures among the files of the options. Captures that do not say when they ended
 * are left out, and named. ERR_NOT_FOUND: there is no such instant, or nothing on one side of
 * it. */
MUST_CHECK enum err_code before_after_find(const struct options *options,
                                           struct before_after *out, struct err *err);
void before_after_deinit(struct before_after *found);

#endif /* SERVER_COMMAND_OUTPUT_BEFORE_AFTER_H */
