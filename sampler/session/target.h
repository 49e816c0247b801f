/*
 * target - one process of a session: the process, its interpreter, and how its stacks become
 * samples of the session's profile.
 *
 *     target_open     finds the interpreter; touches nothing of the session
 *     target_join     from now on the target counts into the profile; an engine reads it
 *     target_leave    counts the samples that still wait
 *     target_close
 *
 * Ownership: target_open makes, target_close frees; NULL is fine.
 * Threads: target_open: any; from target_join on the profile's writer.
 */
#ifndef SAMPLER_SESSION_TARGET_H
#define SAMPLER_SESSION_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/permission.h"
#include "sampler/process/process.h"
#include "sampler/session.h"
#include "sampler/session/fold/fold.h"
#include "sampler/session/fold/task_fold.h"

struct context_marks;
struct guessed_requests;
struct locals_board;
struct lock_board;
struct origins;
struct profile;
struct python;
struct strtab;
struct thread_cpus;
struct thread_reading;

/* The memory of a target as memory_reader last read it. */
struct target_memory {
    uint64_t minor_faults, major_faults; /* so far */
    uint64_t swap_bytes, limit_bytes;
    uint32_t group; /* of the limit */
    uint32_t turns; /* readings of all but its RSS */
    bool knows_faults;
};

struct target {
    struct process process;
    struct permission_users users; /* with which it is permitted */
    struct memory_guard guard;
    struct python *python;
    struct fold fold;
    struct task_fold tasks;
    const struct session_options *options; /* NULL: has not joined */
    struct lock_board *locks;
    struct locals_board *locals;
    struct guessed_requests *guesses; /* NULL: what threads work for is not guessed */
    struct target_memory memory;
    int parent; /* pid; 0: unknown */
    size_t row; /* in the target table */
    remote_addr
        stack_start; /* of its first thread; 0: unknown, or native stacks are not wanted */
    uint64_t checked_misses; /* of the code table, when the process was last known to run */
    bool has_another;        /* another interpreter has been found */
    uint64_t another_due_ns,
        another_wait_ns; /* when it is searched again, and how long after */
};

/* How a target ended. */
struct ending {
    enum session_state state; /* ended or failed */
    const char *reason;
    bool is_of_all;  /* the session cannot go on */
    bool is_refused; /* it runs, but is permitted no longer */
};

/* is_cancelled: ends the search early; NULL: never.  From now on interns into `strings`.
 * ERR_PERM also: it is not permitted (permission.h).  ERR_INVALID: the interpreter does not show the state that the
 * mode keeps: every sample would be kept. */
MUST_CHECK enum err_code target_open(int pid, enum runtime_effort effort,
                                     enum session_mode mode, const atomic_bool *is_cancelled,
                                     struct strtab *strings, struct target **out,
                                     struct err *err);
void target_close(struct target *target);

/* Is what has been read so far of a process, and of a program, that is permitted?  Asks again if it has other users now.
 * ERR_PERM: it is not; ERR_GONE: the process has ended or executes another program. */
MUST_CHECK enum err_code target_check_permission(struct target *target, struct err *err);

/* Borrows everything; all must outlive the target.  contexts NULL: what threads work for is not wanted. */
MUST_CHECK enum err_code target_join(struct target *target, struct profile *profile,
                                     struct thread_cpus *cpus, struct origins *origins,
                                     struct context_marks *contexts,
                                     const struct session_options *options, struct err *err);
/* From now on it has native stacks, too; does nothing if it has them. */
MUST_CHECK enum err_code target_record_native(struct target *target, struct err *err);
/* Counts waiting tasks and the calls that read memory; call before the profile is sealed. */
MUST_CHECK enum err_code target_flush(struct target *target, uint64_t now_ns);
MUST_CHECK enum err_code target_leave(struct target *target, uint64_t now_ns);

/* Reads what a thread works for, if that is wanted.  copy NULL: the thread has just been read from the process.  Of a copy,
 * only what was copied counts. */
void target_read_context(struct target *target, struct thread_reading *reading,
                         struct memory *copy);

/* Does a thread work for something else than when it was read last?  false, too, where there are too many threads to ask. */
bool target_has_new_context(struct target *target, uint64_t now_ns);

/* Reads the variables of a thread that stands still as long as this takes, if they are wanted and have not been read; target_place_locals
 * follows once the reading has been folded. */
MUST_CHECK enum err_code target_read_locals(struct target *target,
                                            const struct thread_reading *reading,
                                            bool is_stopped);
void target_place_locals(struct target *target, const struct thread_reading *reading);

/* All that is known of the task but its uses of locks. */
struct lock_report target_task_report(const struct target *target, const struct task *task);
/* Threads have been sampled since the tasks were read: settles which tasks run, and reports what the others wait for and hold, if
 * locks are read at every tick. */
MUST_CHECK enum err_code target_settle_tasks(struct target *target, uint64_t now_ns);
/* Reads the asyncio tasks if that is wanted and due; `ticks` have passed since the last call.  ERR_OK also if
 * they cannot be read: threads are sampled nevertheless. */
MUST_CHECK enum err_code target_read_tasks(struct target *target, uint32_t ticks,
                                           uint64_t now_ns);

/* Code objects are read after the stack.  If the process has ended or called exec in between, what was
 * read may belong to its successor with the same pid or the same addresses: then false, and also if it is permitted
 * no longer. */
bool target_is_same(struct target *target);

/* Does this error end the session?  *out says how: memory, or a table of the profile, is full. */
bool target_ends_session(enum err_code rc, struct ending *out);

/* false: the process has ended or executes another program; *out says which. */
bool target_runs(struct target *target, struct ending *out);
/* Checks as target_runs does; false also: it is permitted no longer. */
bool target_may_stay(struct target *target, struct ending *out);

#endif /* SAMPLER_SESSION_TARGET_H */
