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
 * Ownership: scout_create makes, scout_destroy stops and frees; members go to who takes them.  Where its
 * thread hangs in the kernel nobody waits for it: it frees what is its own when it comes back.
 * Threads: the scout's own, and one that calls everything here.
 * Limits: SCOUT_MAX_KIN processes are followed, SAMPLER_MAX_PROCESSES are members at a time; those
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

struct member;
struct process;
struct scout;
struct strtab;

enum { SCOUT_MAX_KIN = 4096 };

struct scout_counts {
    uint64_t over;   /* Python processes that had to wait for room, or were not followed */
    uint64_t denied; /* processes that cannot be read, or do not tell what the mode keeps */
};

/* Members that it makes intern into `strings`, from their first look on.  `adopts`: whoever becomes a
 * child of ours is followed, but for the helper (0: there is none). */
MUST_CHECK enum err_code scout_create(struct strtab *strings, enum sampler_mode mode,
                                      bool adopts, pid_t helper, struct scout **out,
                                      struct err *err);
void scout_destroy(struct scout *scout);

/* Before scout_start: follows a process; is_member: that it need not make a member of. */
MUST_CHECK enum err_code scout_follow(struct scout *scout, int pid, bool is_member,
                                      struct err *err);
/* Before scout_start: looks once, at everything that is there. */
void scout_look_once(struct scout *scout);
MUST_CHECK enum err_code scout_start(struct scout *scout, struct err *err);

/* A new member; NULL: none now.  Costs one atomic read when there is none. */
struct member *scout_take(struct scout *scout);
/* This one is no member any more: it has ended, or is another program now. */
void scout_release(struct scout *scout, const struct process *process);
/* This one could not become a member: it is tried again, but not soon. */
void scout_refuse(struct scout *scout, const struct process *process);
/* May there be members yet, of what is followed now? */
bool scout_has_hope(struct scout *scout);
void scout_counts(struct scout *scout, struct scout_counts *out);
/* Of its thread. */
uint64_t scout_cpu_ns(struct scout *scout);

#endif /* SAMPLER_SESSION_CHILD_TRACKER_H */
