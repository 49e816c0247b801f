/*
 * dump_targets - the processes that a dump reads: named ones, all, those with a command, and their children.
 *
 * Ownership: the caller's storage; dump_targets_deinit accepts a zeroed one.
 * Limits: PROCESS_TREE_MAX processes.
 */
#ifndef SERVER_COMMAND_DUMP_TARGETS_H
#define SERVER_COMMAND_DUMP_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct options;

struct dump_targets {
    pid_t *pids; /* in the order of the command line, or by number */
    size_t count;
    size_t unreadable; /* Python processes that cannot be read, of all or with the command */
    size_t unexamined; /* processes that took too long to be examined */
    bool are_named;    /* by the command line: one that cannot be read is an error */
};

/* ERR_GONE: there is none. */
MUST_CHECK enum err_code dump_targets_find(const struct options *options,
                                           struct dump_targets *out, struct err *err);
void dump_targets_deinit(struct dump_targets *targets);

/* Is the process named by the command line? */
bool dump_targets_is_named(const struct options *options, pid_t pid);

#endif /* SERVER_COMMAND_DUMP_TARGETS_H */
