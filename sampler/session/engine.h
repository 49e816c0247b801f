/*
 * engine - where the samples of a session come from: what the two engines have in common.
 *
 * The remote engine (remote/remote_engine.h) reads the memory of the targets, the kernel engine
 * (kernel/kernel_engine.h) takes the stacks that a program in the kernel has copied.  Each says of a thread at an
 * instant the same: struct thread_reading.  Nothing behind that knows which of them runs.
 *
 * Ownership: engine_create makes, engine_destroy frees.  An engine borrows its session, and its targets from `add` to `remove`.
 * Threads: the profile's writer.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_ENGINE_H
#define SAMPLER_SESSION_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/process/system_call.h"
#include "sampler/profile/measure.h"
#include "sampler/profile/profile.h"

struct ending;
struct engine;
struct native_copy;
struct session_options;
struct target;
struct thread;
struct thread_cpus;

/* How a reading found its thread. */
enum thread_motion {
    THREAD_STILL, /* its stack was that of the reading before, or it could not run */
    THREAD_MOVING,
    THREAD_STOPPED, /* by us */
};

/* Frames of the profile, outermost first: what a thread does in the kernel. */
struct kernel_path {
    const frame_id *frames;
    size_t count;
};

/* The report of an engine on one thread at one instant, or at several at which it stood at one
 * place. */
struct thread_reading {
    struct thread *thread;     /* thread->stack has its frames */
    enum err_code failure;     /* ERR_OK: it was read */
    struct thread_state state; /* as the interpreter has it */
    uint64_t since_ns, now_ns; /* the first and the last of the instants */
    uint32_t times;            /* samples that it counts as */
    enum measure measure;      /* whose samples these are */
    enum thread_motion motion;
    bool
        is_stopped; /* it stood still by an act of ours, or was copied: `runs` was known before that */
    bool is_asked;                    /* `runs` is known because the kernel was asked */
    enum three_valued runs;           /* did it run, or was it ready to? */
    enum three_valued runnable;       /* if so, was it without a processor? */
    struct system_call call;          /* if not, where it waited */
    const struct native_copy *native; /* its native stack; NULL: none */
    struct kernel_path in_kernel;     /* below that; empty: it is not there, or was not asked */
    bool keeps_native;                /* its native stack is that of its last sample */
    uint32_t context;                 /* what it works for (context_marks.h); 0: unknown */
    bool is_in_new_context;           /* that is not what it worked for at its last sample */
};

/* The session as its engine sees it. All of it outlives the engine. */
struct engine_session {
    const struct session_options *options;
    struct profile *profile;
    struct thread_cpus *cpus;
    /* Removes a target that has ended.  false: the session cannot go on, *out says why. */
    bool (*end_target)(void *context, struct target *target, const struct ending *ending,
                       struct ending *out);
    void *context;
};

/* The instant at which an engine is ticked. */
struct engine_tick {
    bool has_sampled; /* a target was read, or chance has left one out that others stand for */
    uint64_t now_ns;  /* of the last target */
};

struct engine_ops {
    /* The engine samples by itself, at instants of its own: a tick takes what it has sampled since the last one, and it counts
     * its instants itself.  Otherwise a tick is an instant, and reads the targets. */
    bool samples_by_itself;
    size_t bytes; /* of the engine */
    /* The engine is zeroed behind its head. */
    MUST_CHECK enum err_code (*init)(struct engine *engine, struct err *err);
    /* Frees what the engine has, also after a failed init. */
    void (*deinit)(struct engine *engine);
    MUST_CHECK enum err_code (*add)(struct engine *engine, struct target *target,
                                    struct err *err);
    /* Counts what is known of the target up to now.  It is removed also if that fails. */
    enum err_code (*remove)(struct engine *engine, struct target *target);
    /* The session begins: what was seen before that is forgotten. */
    void (*begin)(struct engine *engine);
    /* false: the session cannot go on, *out says why. */
    bool (*tick)(struct engine *engine, struct engine_tick *tick, struct ending *out);
    /* Counts a tick that reads nothing, which needs not be waited for.  false: it may read. */
    bool (*skip)(struct engine *engine, uint64_t instant_ns);
    /* The session is paused until the next tick: what was seen since the last call is forgotten. */
    void (*pause)(struct engine *engine);
    /* Sleeps until the instant, or until the engine has to be ticked sooner.  Returns when to tick it.  For an engine that
     * samples by itself. */
    uint64_t (*wait)(struct engine *engine, uint64_t until_ns);
    void (*set_rate)(struct engine *engine, double rate_hz);
    /* How often to tick it, where rate_hz is the rate of the session. */
    double (*tick_hz)(struct engine *engine, double rate_hz, uint64_t now_ns);
    /* Counts what is known up to now; call before the profile is sealed.  is_last: nothing is left for later. */
    MUST_CHECK enum err_code (*flush)(struct engine *engine, uint64_t now_ns, bool is_last);
    /* Since when has the thread stood where thread->stack has it, as far as the engine knows?  0: it moves, or waits for no lock.  NULL: nobody
     * counts for what threads wait. */
    uint64_t (*stands_since)(struct engine *engine, const struct target *target,
                             const struct thread *thread, uint64_t now_ns);
    /* Does it still stand there?  thread->stack is its stack then. */
    MUST_CHECK enum err_code (*check_stands)(struct engine *engine, const struct target *target,
                                             const struct thread *thread, uint64_t now_ns,
                                             bool *stands_out);
    /* The part of the target that it does not sample, for its user; NULL: it samples all. */
    const char *(*warning)(struct engine *engine, const struct target *target);
};

/* An engine begins with this. */
struct engine {
    const struct engine_ops *ops;
    const struct engine_session *session;
};

MUST_CHECK enum err_code engine_create(const struct engine_ops *ops,
                                       const struct engine_session *session,
                                       struct engine **out, struct err *err);
/* NULL is fine. */
void engine_destroy(struct engine *engine);

#endif /* SAMPLER_SESSION_ENGINE_H */
