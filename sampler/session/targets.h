/*
 * targets - the targets of a session and what they share: the profile, thread CPU accounting, the
 * number of threads that one tick may sample.
 *
 * Ownership: the caller's storage; owns the targets and the profile.  targets_deinit accepts a
 * zeroed one.
 * Threads: the sampling thread; any thread may read the target table, the origins and the profile.
 * Limits: SAMPLER_MAX_PROCESSES targets at a time.  Of more than PYTHON_MAX_THREADS_PER_TICK
 * threads in all, a tick samples a random part of the targets, each with the same chance.  That part
 * stands for the rest.
 */
#ifndef SAMPLER_SESSION_TARGETS_H
#define SAMPLER_SESSION_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/stopper.h"
#include "sampler/sampler.h"
#include "sampler/session/fold/task_board.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/fold/waits.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/origins.h"
#include "sampler/session/remote/bias.h"
#include "sampler/session/target.h"
#include "sampler/session/target_table.h"

struct engines;
struct kernel;
struct kernel_feed;

struct targets {
    const struct sampler_options *options;
    struct profile *profile;
    struct thread_cpus cpus;
    struct context_marks *contexts; /* NULL: not wanted */
    struct waits *waits;
    struct target_table target_table;
    struct origins origins;
    struct task_board board;
    struct target *items[SAMPLER_MAX_PROCESSES];
    size_t count;
    struct stopper stopper;
    struct bias bias;
    struct native_copies native; /* of the threads that are stopped */
    struct kernel *kernel;       /* of options->engines; NULL: the remote engine */
    struct kernel_feed *feed;    /* likewise */
    size_t next_check;           /* of items: asked next whether it still runs */
    struct tick tick;
    struct ending last; /* of the target that left last */
    uint64_t created_ns;
    /* A target has left; or NULL. */
    void (*left)(void *context, const struct process *process, bool is_refused);
    void *context;
};

/* Borrows the options. */
MUST_CHECK enum err_code targets_init(struct targets *targets,
                                      const struct sampler_options *options, struct err *err);
void targets_deinit(struct targets *targets);

/* Times are relative to `created_ns`. */
void targets_begin(struct targets *targets, uint64_t created_ns);

/* Takes ownership of the target on success.  ERR_PERM, ERR_GONE: as target_check_permission. */
MUST_CHECK enum err_code targets_add(struct targets *targets, struct target *target,
                                     struct err *err);

/* From now on all targets have native stacks, too. */
MUST_CHECK enum err_code targets_record_native(struct targets *targets, struct err *err);

/* From now on a kernel engine samples, until the targets are dismissed. */
MUST_CHECK enum err_code targets_use_kernel(struct targets *targets, struct err *err);
/* From now on the targets are read from outside. */
void targets_leave_kernel(struct targets *targets);
/* Leaves the kernel engine and closes it for all sessions: its files are free. */
void targets_give_up_kernel(struct targets *targets, const char *why);
/* Has one of them sub-interpreters that the kernel engine does not follow? */
bool targets_have_unfollowed_interpreters(const struct targets *targets);
/* Does the kernel engine know no thread of any of them, because all their numbers are unknown? */
bool targets_are_unknown(const struct targets *targets);

/* Samples the targets.  *sampled_out: at least one was, or chance has left one out that others stand for.  false:
 * the session cannot go on, *out says why.  The caller checks whether targets are left. */
bool targets_tick(struct targets *targets, bool *sampled_out, struct ending *out);
/* Until this instant ticks read nothing, so targets_skip can count them; 0: the next one may read. */
uint64_t targets_idle_until(const struct targets *targets);
void targets_skip(struct targets *targets, uint64_t now_ns);
/* Removes targets that have ended, or are permitted no longer.  false: as above. */
bool targets_check(struct targets *targets, struct ending *out);
/* Closes all targets and returns the memory that sampling needed; the profile stays. */
void targets_dismiss(struct targets *targets);
/* Shows the asyncio tasks to readers; their nodes exist once the profile has been sealed. */
MUST_CHECK enum err_code targets_show_tasks(struct targets *targets);
/* Counts all waiting samples; call before the profile is sealed. */
MUST_CHECK enum err_code targets_flush(struct targets *targets, uint64_t now_ns, bool is_last);

#endif /* SAMPLER_SESSION_TARGETS_H */
