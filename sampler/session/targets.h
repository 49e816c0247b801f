/*
 * crew - the members of a session and what they have in common: the profile, the lanes of their
 * threads, the number of threads that one look may cost.
 *
 * Ownership: the caller's storage; the crew owns its members and the profile.  targets_deinit accepts
 * a zeroed one.
 * Threads: the sampling thread; the roster, the origins and the profile may be asked by others.
 * Limits: SAMPLER_MAX_PROCESSES members at a time.  Of more than PYTHON_MAX_THREADS_PER_TICK threads in all a
 * random part of the members is looked at, each as likely as any other, and stands for the rest.
 * Depends on: member, lanes, origins, roster, profile, sampler.h.
 */
#ifndef SAMPLER_SESSION_TARGETS_H
#define SAMPLER_SESSION_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/stopper.h"
#include "sampler/sampler.h"
#include "sampler/session/origins.h"
#include "sampler/session/target.h"
#include "sampler/session/target_table.h"
#include "sampler/session/task_board.h"
#include "sampler/session/thread_cpu.h"

struct targets {
    const struct sampler_options *options;
    struct profile *profile;
    struct thread_cpus cpus;
    struct target_table target_table;
    struct origins origins;
    struct task_board board;
    struct target *items[SAMPLER_MAX_PROCESSES];
    size_t count;
    struct stopper stopper;
    struct tick tick;
    struct ending last; /* of the member that left last */
    uint64_t created_ns;
    void (*left)(void *context,
                 const struct process *process); /* told of who leaves; or NULL */
    void *context;
};

/* The options outlive the crew. */
MUST_CHECK enum err_code targets_init(struct targets *targets,
                                      const struct sampler_options *options, struct err *err);
void targets_deinit(struct targets *targets);

/* Everything that is told is told since then. */
void targets_begin(struct targets *targets, uint64_t created_ns);

/* Takes the member on success. */
MUST_CHECK enum err_code targets_add(struct targets *targets, struct target *target,
                                     struct err *err);

/* Looks at the members.  *sampled_out: at one of them at least.  false: the session cannot go on,
 * and *out says why; that there are no members left is for the caller to see. */
bool targets_tick(struct targets *targets, bool *sampled_out, struct ending *out);
/* Lets those go that have ended.  false: as above. */
bool targets_check(struct targets *targets, struct ending *out);
/* Lets all members go and gives back the memory that was needed to look at them: the session is
 * over, what was seen stays. */
void targets_dismiss(struct targets *targets);
/* Tells others of the tasks; their nodes are there once the profile has been sealed. */
MUST_CHECK enum err_code targets_tell_tasks(struct targets *targets);
/* Counts everything that waits; to be called before the profile is sealed. */
MUST_CHECK enum err_code targets_flush(struct targets *targets, uint64_t now_ns);

#endif /* SAMPLER_SESSION_TARGETS_H */
