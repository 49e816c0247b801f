/*
 * process_scan - lists all processes of this host, or the children of some.
 *
 * A kernel with CONFIG_PROC_CHILDREN lists the children of each thread.  With others, the parents of
 * all processes are read.
 *
 * Ownership: the caller's storage; pid_list_deinit accepts a zeroed one.
 * Limits: PROCESS_SCAN_MAX_PIDS.
 */
#ifndef SAMPLER_PROCESS_PROCESS_SCAN_H
#define SAMPLER_PROCESS_PROCESS_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

enum { PROCESS_SCAN_MAX_PIDS = 1 << 22 };

struct pid_list {
    int *items;
    size_t count, room;
};

void pid_list_deinit(struct pid_list *list);

MUST_CHECK enum err_code pid_list_add(struct pid_list *list, int pid);

/* Adds all processes that /proc shows. */
MUST_CHECK enum err_code process_scan_all(struct pid_list *out, struct err *err);

enum process_scan_method { PROCESS_SCAN_CHILD_LISTS, PROCESS_SCAN_PARENTS };

/* The cheapest method of this kernel. */
enum process_scan_method process_scan_method(void);

/* Adds the children of these processes; a process that is gone has none.  A list of children that
 * changes while it is read may miss some of them: scan again. */
MUST_CHECK enum err_code process_scan_children(enum process_scan_method method,
                                               const int *parents, size_t count,
                                               struct pid_list *out);

#endif /* SAMPLER_PROCESS_PROCESS_SCAN_H */
