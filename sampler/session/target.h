/*
 * member - one process of a session: the process, the interpreter in it, and how its stacks become
 * samples of the session's profile.
 *
 *     target_open    finds the interpreter; on any thread, as it touches nothing of the session
 *     target_join    from now on it counts into the profile
 *     target_sample    at every instant
 *     target_leave   counts what still waits
 *     target_close
 *
 * Ownership: target_open makes, target_close frees; NULL is fine.
 * Threads: one at a time; from target_join on the profile's writer.
 * Depends on: target, cpython, fold, lanes, profile.
 */
#ifndef SAMPLER_SESSION_TARGET_H
#define SAMPLER_SESSION_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/random.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/process.h"
#include "sampler/sampler.h"
#include "sampler/session/fold.h"
#include "sampler/session/task_fold.h"

struct thread_cpus;
struct origins;
struct profile;
struct python;
struct stopper;
struct strtab;

struct target {
    struct process process;
    struct python *python;
    struct fold fold;
    struct task_fold tasks;
    const struct sampler_options *options; /* NULL: has not joined */
    int parent;                            /* pid; 0: unknown */
    size_t told;                           /* its place in the roster */
    uint64_t failing_since_ns;             /* 0: the last look succeeded */
};

/* How a member ended. */
struct ending {
    enum sampler_state state; /* ended or failed */
    const char *reason;
    bool is_of_all; /* the session cannot go on */
};

/* What looks have in common; filled by who looks. */
struct tick {
    struct stopper *stopper; /* NULL: threads are not stopped */
    double weight;           /* members that each one looked at stands for, 1 or more */
    struct random random;
    uint64_t now_ns; /* of the last look */
};

/* is_cancelled ends it; NULL: nobody does.  Strings are interned into `strings` from the first look on.
 * ERR_INVALID: its interpreter does not tell what the mode keeps, so that all would be kept. */
MUST_CHECK enum err_code target_open(int pid, enum runtime_effort effort,
                                     enum sampler_mode mode, const atomic_bool *is_cancelled,
                                     struct strtab *strings, struct target **out,
                                     struct err *err);
void target_close(struct target *target);

/* All of them outlive the member. */
MUST_CHECK enum err_code target_join(struct target *target, struct profile *profile,
                                     struct thread_cpus *cpus, struct origins *origins,
                                     const struct sampler_options *options, struct err *err);
/* Counts what waits but for the lanes; to be called before the profile is sealed. */
MUST_CHECK enum err_code target_flush(struct target *target, uint64_t now_ns);
MUST_CHECK enum err_code target_leave(struct target *target, uint64_t now_ns);

/* Threads it would look at. */
size_t target_threads(const struct target *target);

/* One look.  ERR_OK also where threads failed: they are counted. */
MUST_CHECK enum err_code target_sample(struct target *target, struct tick *tick);

/* After a look that failed as a whole: false: it has ended, *out says how. */
bool target_bears(struct target *target, enum err_code rc, uint64_t now_ns, struct ending *out);

/* false: its process has ended or is another program now; *out says which. */
bool target_runs(struct target *target, struct ending *out);

#endif /* SAMPLER_SESSION_TARGET_H */
