/*
 * child_tracker - finds the processes that the targets of a session start, and the interpreters in
 * them, in a thread of its own, so that the sampling thread waits for neither.
 *
 * The tracker follows whole process trees.  It also follows a process that is not Python, or not
 * yet, because that may start or become (exec) one that is.  It waits before it searches a new
 * process: most execute another program at once.
 *
 * At rest a scan is one small read: the id of the newest process of the host.  When that changes,
 * and once a second in case it cannot be trusted, the tracker lists the children of all followed
 * processes.  The pause between two scans is 15 to 80 ms, and a hundred times the cost of a scan within
 * these bounds.  A child whose parent ended before the child was seen is recognized by its addresses
 * (child_table.h), or because `adopter` has adopted it; if it has executed another program by
 * then, `attach` does not find it.
 *
 * Ownership: child_tracker_create makes, child_tracker_destroy stops and frees; child_tracker_take
 * gives its target to the caller.  If the tracker's thread hangs in the kernel,
 * child_tracker_destroy does not wait: the thread frees the tracker when it returns.
 * Threads: its own, and one that calls these functions.
 * Limits: follows CHILD_TRACKER_MAX processes; SESSION_MAX_PROCESSES are targets at a time, the
 * others are counted and join once there is room.
 */
#ifndef SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_H
#define SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/session.h"

struct target;
struct process;
struct child_tracker;
struct strtab;

enum { CHILD_TRACKER_MAX = 4096 };

struct child_tracker_counts {
    uint64_t over; /* Python processes that had to wait for room, or were not followed */
    uint64_t short_of_files; /* processes, Python or not, for which too many files are open */
    uint64_t
        denied; /* processes that cannot be read, or do not show the state that the mode keeps */
    uint64_t not_permitted; /* processes, Python or not, that permission.h refuses */
};

/* Targets intern into `strings` from the moment they are opened.  Every process that becomes
 * a child of `adopter` (0: none) is followed. */
MUST_CHECK enum err_code child_tracker_create(struct strtab *strings, enum session_mode mode,
                                              pid_t adopter, struct child_tracker **out,
                                              struct err *err);
void child_tracker_destroy(struct child_tracker *tracker);

/* Follows a process; is_target: the session has it already.  Call before child_tracker_start. */
MUST_CHECK enum err_code child_tracker_follow(struct child_tracker *tracker, int pid,
                                              bool is_target, struct err *err);
/* Scans once, before child_tracker_start. */
void child_tracker_scan_once(struct child_tracker *tracker);
/* Scans once more, when more files may be open than at the scan before. */
void child_tracker_scan_again(struct child_tracker *tracker);
MUST_CHECK enum err_code child_tracker_start(struct child_tracker *tracker, struct err *err);

/* A new target; NULL: none, at the cost of one atomic read. */
struct target *child_tracker_take(struct child_tracker *tracker);
/* The process is no longer a target, or could not become one.  ERR_OK, ERR_GONE: it has ended or executes another
 * program, and is searched at once.  Otherwise it is counted, and searched half a minute later; ERR_PERM: it is not
 * permitted. */
void child_tracker_release(struct child_tracker *tracker, const struct process *process,
                           enum err_code why);
/* May a followed process become a target later? */
bool child_tracker_may_find_more(struct child_tracker *tracker);
void child_tracker_counts(struct child_tracker *tracker, struct child_tracker_counts *out);
/* CPU time of its thread. */
uint64_t child_tracker_cpu_ns(struct child_tracker *tracker);

#endif /* SAMPLER_SESSION_CHILDREN_CHILD_TRACKER_H */
