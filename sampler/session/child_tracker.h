/*
 * scout - looks for processes that the members of a session start, in a thread of its own, and
 * finds the interpreters in them, so that the sampling thread never waits for either.
 *
 * Followed are whole trees: processes that are no Python, or none yet, too, because they may start
 * one or become one (exec).  What is new is left alone for a moment: most of it becomes another
 * program at once.
 *
 * At rest a look is one small read: the number of the newest process of this host.  When it has
 * changed, or every second in case that it cannot be trusted, the children of all that is followed
 * are listed; between looks passes as much time as makes them a hundredth of a core, or 80 ms.
 * A child whose parent has ended before it was seen is told by its addresses (see stray.h), or by
 * being ours (adopts).  What became another program by then is not found.
 *
 * Ownership: child_tracker_create makes, child_tracker_destroy stops and frees; members go to who takes them.  Where its
 * thread hangs in the kernel nobody waits for it: it frees what is its own when it comes back.
 * Threads: the scout's own, and one that calls everything here.
 * Limits: CHILD_TRACKER_MAX processes are followed, SAMPLER_MAX_PROCESSES are members at a time; those
 * beyond are counted, and join once there is room.
 * Depends on: member, target/census.
 */
#ifndef SAMPLER_SESSION_CHILD_TRACKER_H
#define SAMPLER_SESSION_CHILD_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/sampler.h"

struct target;
struct process;
struct child_tracker;
struct strtab;

enum { CHILD_TRACKER_MAX = 4096 };

struct child_tracker_counts {
    uint64_t over;   /* Python processes that had to wait for room, or were not followed */
    uint64_t denied; /* processes that cannot be read, or do not tell what the mode keeps */
};

/* Members that it makes intern into `strings`, from their first look on.  `adopts`: whoever becomes a
 * child of ours is followed, but for the helper (0: there is none). */
MUST_CHECK enum err_code child_tracker_create(struct strtab *strings, enum sampler_mode mode,
                                              bool adopts, pid_t helper,
                                              struct child_tracker **out, struct err *err);
void child_tracker_destroy(struct child_tracker *tracker);

/* Before child_tracker_start: follows a process; is_member: that it need not make a member of. */
MUST_CHECK enum err_code child_tracker_follow(struct child_tracker *tracker, int pid,
                                              bool is_member, struct err *err);
/* Before child_tracker_start: looks once, at everything that is there. */
void child_tracker_scan_once(struct child_tracker *tracker);
MUST_CHECK enum err_code child_tracker_start(struct child_tracker *tracker, struct err *err);

/* A new member; NULL: none now.  Costs one atomic read when there is none. */
struct target *child_tracker_take(struct child_tracker *tracker);
/* This one is no member any more: it has ended, or is another program now. */
void child_tracker_release(struct child_tracker *tracker, const struct process *process);
/* This one could not become a member: it is tried again, but not soon. */
void child_tracker_refuse(struct child_tracker *tracker, const struct process *process);
/* May there be members yet, of what is followed now? */
bool child_tracker_has_hope(struct child_tracker *tracker);
void child_tracker_counts(struct child_tracker *tracker, struct child_tracker_counts *out);
/* Of its thread. */
uint64_t child_tracker_cpu_ns(struct child_tracker *tracker);

#endif /* SAMPLER_SESSION_CHILD_TRACKER_H */
