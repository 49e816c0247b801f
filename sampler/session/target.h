/*
 * target - one process of a session: the process, its interpreter, and how its stacks become
 * samples of the session's profile.
 *
 *     target_open     finds the interpreter; touches nothing of the session
 *     target_join     from now on the target counts into the profile
 *     target_sample   at every tick
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
#include "sampler/base/random.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/permission.h"
#include "sampler/process/process.h"
#include "sampler/sampler.h"
#include "sampler/session/fold/fold.h"
#include "sampler/session/fold/task_fold.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/remote/beside.h"
#include "sampler/session/remote/page_faults.h"
#include "sampler/session/remote/stops.h"

struct thread_cpus;
struct bias;
struct context_marks;
struct origins;
struct profile;
struct python;
struct copy_memory;
struct native_copy;
struct stopper;
struct strtab;
struct thread;

/* Results of a tick that was read, for the ticks after it, until the next one is read. */
struct reading {
    uint64_t now_ns;                       /* 0: never */
    double weight;                         /* threads that each sampled one stood for */
    uint32_t failures[ERR_NOT_PYTHON + 1]; /* threads that could not be read, by error */
};

struct target {
    struct process process;
    struct permission_users users; /* with which it is permitted */
    struct memory_guard guard;
    struct python *python;
    struct fold fold;
    struct task_fold tasks;
    struct stops stops;
    struct page_faults faults;
    const struct sampler_options *options; /* NULL: has not joined */
    int parent;                            /* pid; 0: unknown */
    size_t row;                            /* in the target table */
    remote_addr
        stack_start; /* of its first thread; 0: unknown, or native stacks are not wanted */
    struct native_copies waiting; /* a thread's that has slept since before the recording */
    struct reading last;          /* the last tick that was read and did not fail */
    uint64_t failing_since_ns;    /* 0: the last tick succeeded */
    uint64_t checked_misses; /* of the code table, when the process was last known to run */
    bool has_another;        /* another interpreter has been found */
    uint64_t another_due_ns,
        another_wait_ns; /* when it is searched again, and how long after */
};

/* How a target ended. */
struct ending {
    enum sampler_state state; /* ended or failed */
    const char *reason;
    bool is_of_all;  /* the session cannot go on */
    bool is_refused; /* it runs, but is permitted no longer */
};

/* One tick, the same for all targets. */
struct tick {
    struct stopper *stopper;
    struct bias *bias;
    struct beside beside;
    struct native_copies *native; /* NULL: native stacks are not wanted */
    double weight;                /* targets that each sampled one stands for, 1 or more */
    struct random random;
    uint64_t now_ns; /* of the last target */
};

/* is_cancelled: ends the search early; NULL: never.  From now on interns into `strings`.
 * ERR_PERM also: it is not permitted (permission.h).  ERR_INVALID: the interpreter does not show the state that the
 * mode keeps: every sample would be kept. */
MUST_CHECK enum err_code target_open(int pid, enum runtime_effort effort,
                                     enum sampler_mode mode, const atomic_bool *is_cancelled,
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
                                     const struct sampler_options *options, struct err *err);
/* From now on it has native stacks, too; does nothing if it has them. */
MUST_CHECK enum err_code target_record_native(struct target *target, struct err *err);
/* Counts what the last reading found once more, for the ticks that were skipped since. */
MUST_CHECK enum err_code target_repeat(struct target *target, uint64_t now_ns);
/* Repeats, counts waiting tasks and the calls that read memory; call before the profile is sealed. */
MUST_CHECK enum err_code target_flush(struct target *target, uint64_t now_ns);
MUST_CHECK enum err_code target_leave(struct target *target, uint64_t now_ns);

/* Instants at which a thread stood at one place. */
struct target_instants {
    uint64_t since_ns, until_ns;
    uint32_t times;
    enum three_valued runs;     /* did it run, or was it ready to? */
    enum three_valued runnable; /* if so, was it without a processor? */
    struct system_call call;    /* if not, where it waited */
};

/* Counts a thread from a copy of its memory, or one that waits from its process.  native: its native
 * stack; NULL: none. */
MUST_CHECK enum err_code target_take(struct target *target, struct thread *thread,
                                     struct copy_memory *copy, const struct native_copy *native,
                                     const struct target_instants *instants);
/* Counts the thread's last sample of such a copy again, in the state that the windows in `copy` show.  Only
 * while thread->is_placed. */
MUST_CHECK enum err_code target_take_same(struct target *target, struct thread *thread,
                                          struct copy_memory *copy,
                                          const struct target_instants *instants);
/* Counts a thread of which no copy arrived: its stack is unknown. */
MUST_CHECK enum err_code target_take_unknown(struct target *target, struct thread *thread,
                                             const struct target_instants *instants);
MUST_CHECK enum err_code target_read_waiting(struct target *target, struct thread *thread,
                                             const struct target_instants *instants);
/* Does the thread run, or wait for nothing but a processor?  Asks the kernel.  *call_out: if not, where it
 * waits. */
bool target_thread_is_ready(const struct target *target, const struct thread *thread,
                            struct system_call *call_out);

/* Reads what a thread works for, if that is wanted.  copy NULL: the thread has just been read from the process.  Of a copy,
 * only what was copied counts: by now, the process may have something else there. */
void target_read_context(struct target *target, struct thread *thread, struct copy_memory *copy,
                         uint64_t now_ns);

/* Threads that one tick samples. */
size_t target_threads(const struct target *target);

/* Reads the asyncio tasks if that is wanted and due; `ticks` have passed since the last call.  ERR_OK also if
 * they cannot be read: threads are sampled nevertheless. */
MUST_CHECK enum err_code target_read_tasks(struct target *target, uint32_t ticks,
                                           uint64_t now_ns);

/* ERR_OK also if threads failed: they are counted.  Call once at each tick, or call target_skip or
 * target_pass. */
MUST_CHECK enum err_code target_sample(struct target *target, struct tick *tick);
/* Passes a tick before stops_idle_until. */
void target_skip(struct target *target, uint64_t now_ns);
/* A tick at which other targets stand for this one.  Its tasks are read seldom anyway: what they wait is counted
 * for all ticks. */
void target_pass(struct target *target);

/* Code objects are read after the stack.  If the process has ended or called exec in between, what was
 * read may belong to its successor with the same pid or the same addresses: then false, and also if it is permitted
 * no longer. */
bool target_is_same(struct target *target);

/* After target_sample failed.  false: the target has ended, *out says how. */
bool target_survives(struct target *target, enum err_code rc, uint64_t now_ns,
                     struct ending *out);

/* false: the process has ended or executes another program; *out says which. */
bool target_runs(struct target *target, struct ending *out);
/* Checks as target_runs does; false also: it is permitted no longer. */
bool target_may_stay(struct target *target, struct ending *out);

#endif /* SAMPLER_SESSION_TARGET_H */
