/*
 * targets - the targets of a session and what they share: the profile, thread CPU accounting, the
 * engine that samples them.
 *
 * Ownership: the caller's storage; owns the targets and the profile.  targets_deinit accepts a
 * zeroed one.
 * Threads: the sampling thread; any thread may read the target table, the origins and the profile.
 * Limits: SESSION_MAX_PROCESSES targets at a time.
 */
#ifndef SAMPLER_SESSION_TARGETS_H
#define SAMPLER_SESSION_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/session.h"
#include "sampler/session/engine.h"
#include "sampler/session/fold/locals_board.h"
#include "sampler/session/fold/lock_board.h"
#include "sampler/session/fold/task_board.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/fold/waits.h"
#include "sampler/session/lock_reader.h"
#include "sampler/session/memory_reader.h"
#include "sampler/session/origins.h"
#include "sampler/session/semaphores.h"
#include "sampler/session/target.h"
#include "sampler/session/target_table.h"

struct targets {
    const struct session_options *options;
    struct profile *profile;
    struct thread_cpus cpus;
    struct context_marks *contexts; /* NULL: not wanted */
    struct waits *waits;
    struct target_table target_table;
    struct origins origins;
    struct task_board board;
    struct lock_board locks;
    struct semaphores semaphores;
    struct locals_board locals;
    struct lock_reader lock_reader;
    struct memory_reader memory_reader;
    struct target *items[SESSION_MAX_PROCESSES];
    size_t count;
    struct engine *engine; /* NULL: not chosen yet, or the targets are dismissed */
    struct engine_session engine_session;
    bool records_native;
    struct ending last; /* of the target that left last */
    uint64_t created_ns;
    /* A target has left; or NULL. */
    void (*left)(void *context, const struct process *process, bool is_refused);
    void *context;
};

/* Borrows the options. */
MUST_CHECK enum err_code targets_init(struct targets *targets,
                                      const struct session_options *options, struct err *err);
void targets_deinit(struct targets *targets);

/* Times are relative to `created_ns`. */
void targets_begin(struct targets *targets, uint64_t created_ns);

/* Takes ownership of the target on success.  ERR_PERM, ERR_GONE: as target_check_permission. */
MUST_CHECK enum err_code targets_add(struct targets *targets, struct target *target,
                                     struct err *err);

/* From now on all targets have native stacks, too. */
MUST_CHECK enum err_code targets_record_native(struct targets *targets, struct err *err);

/* From now on such an engine samples, until the targets are dismissed.  *before_out: the one that did, which is the caller's
 * now; before_out NULL: it is destroyed.  If that fails, nothing changes. */
MUST_CHECK enum err_code targets_use_engine(struct targets *targets,
                                            const struct engine_ops *ops,
                                            struct engine **before_out, struct err *err);

/* Removes targets that have ended, or are permitted no longer.  false: the session cannot go on, *out says why. */
bool targets_check(struct targets *targets, struct ending *out);
/* Closes all targets and returns the memory that sampling needed; the profile stays. */
void targets_dismiss(struct targets *targets);
/* Shows the asyncio tasks to readers; their nodes exist once the profile has been sealed. */
MUST_CHECK enum err_code targets_show_tasks(struct targets *targets);
/* Reads what threads wait for and hold, if that is due. */
MUST_CHECK enum err_code targets_read_locks(struct targets *targets);
/* Reads the memory of all processes, and adds it to the profile and the sink. */
MUST_CHECK enum err_code targets_read_memory(struct targets *targets, uint64_t now_ns);
/* Counts all waiting samples; call before the profile is sealed. */
MUST_CHECK enum err_code targets_flush(struct targets *targets, uint64_t now_ns, bool is_last);

#endif /* SAMPLER_SESSION_TARGETS_H */
