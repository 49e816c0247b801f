/*
 * census - which processes there are: all of this host, or the children of some.
 *
 * Linux lists the children of each thread where it was built so (CONFIG_PROC_CHILDREN); where it
 * does not, all processes are asked for their parent.
 *
 * Ownership: the caller's storage; pid_list_deinit accepts a zeroed one.
 * Limits: PROCESS_SCAN_MAX_PIDS.
 * Depends on: err, procfs.
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

/* Adds all processes that we see. */
MUST_CHECK enum err_code process_scan_all(struct pid_list *out, struct err *err);

enum process_scan_way { PROCESS_SCAN_LISTED, PROCESS_SCAN_ASKED };

/* The cheaper way that this kernel has. */
enum process_scan_way process_scan_way(void);

/* Adds the children of these processes; those that are gone have none.  A list of children that
 * changes while it is read may miss some of them: look again. */
MUST_CHECK enum err_code process_scan_children(enum process_scan_way way, const int *parents,
                                               size_t count, struct pid_list *out);

#endif /* SAMPLER_PROCESS_PROCESS_SCAN_H */
