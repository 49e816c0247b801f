/*
 * member - one process of a session: the process, the interpreter in it, and how its stacks become
 * samples of the session's profile.
 *
 *     member_open    finds the interpreter; on any thread, as it touches nothing of the session
 *     member_join    from now on it counts into the profile
 *     member_look    at every instant
 *     member_leave   counts what still waits
 *     member_close
 *
 * Ownership: member_open makes, member_close frees; NULL is fine.
 * Threads: one at a time; from member_join on the profile's writer.
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

struct lanes;
struct origins;
struct profile;
struct python;
struct stopper;
struct strtab;

struct member {
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
struct glance {
    struct stopper *stopper; /* NULL: threads are not stopped */
    double weight;           /* members that each one looked at stands for, 1 or more */
    struct random random;
    uint64_t now_ns; /* of the last look */
};

/* is_cancelled ends it; NULL: nobody does.  Strings are interned into `strings` from the first look on.
 * ERR_INVALID: its interpreter does not tell what the mode keeps, so that all would be kept. */
MUST_CHECK enum err_code member_open(int pid, enum runtime_effort effort,
                                     enum sampler_mode mode, const atomic_bool *is_cancelled,
                                     struct strtab *strings, struct member **out,
                                     struct err *err);
void member_close(struct member *member);

/* All of them outlive the member. */
MUST_CHECK enum err_code member_join(struct member *member, struct profile *profile,
                                     struct lanes *lanes, struct origins *origins,
                                     const struct sampler_options *options, struct err *err);
/* Counts what waits but for the lanes; to be called before the profile is sealed. */
MUST_CHECK enum err_code member_flush(struct member *member, uint64_t now_ns);
MUST_CHECK enum err_code member_leave(struct member *member, uint64_t now_ns);

/* Threads it would look at. */
size_t member_looks(const struct member *member);

/* One look.  ERR_OK also where threads failed: they are counted. */
MUST_CHECK enum err_code member_look(struct member *member, struct glance *glance);

/* After a look that failed as a whole: false: it has ended, *out says how. */
bool member_bears(struct member *member, enum err_code rc, uint64_t now_ns, struct ending *out);

/* false: its process has ended or is another program now; *out says which. */
bool member_runs(struct member *member, struct ending *out);

#endif /* SAMPLER_SESSION_TARGET_H */
