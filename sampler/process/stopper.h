/*
 * stopper - holds threads of another process still for a moment (ptrace).
 *
 * Each stop is its own: SEIZE, INTERRUPT, wait, and DETACH at the end, so that nothing of the
 * target is traced between looks and its signals are delivered as ever.  Should we be killed
 * while it is stopped, the kernel detaches and it goes on.  A thread that does not stop before
 * the deadline (it sleeps uninterruptibly in the kernel) is left alone and let go as soon as it
 * does stop.
 *
 * Ownership: the caller's storage; stopper_deinit lets everything go.
 * Threads: all calls from one thread, as ptrace demands.
 * Limits: STOPPER_MAX_THREADS; threads beyond are not stopped.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Depends on: err, clock.
 */
#ifndef SAMPLER_PROCESS_STOPPER_H
#define SAMPLER_PROCESS_STOPPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { STOPPER_MAX_THREADS = 4096 };

struct stopper {
    struct stopped {
        int32_t tid;
        int signal; /* to be delivered when it goes on, 0: none */
        enum { STOPPER_SEIZED, STOPPER_STOPPED } state;
    } * items;
    size_t count, room;
    uint64_t began_ns;
    uint64_t stopped_ns; /* in all */
};

void stopper_init(struct stopper *stopper);
void stopper_deinit(struct stopper *stopper);

/* Stops the threads; returns when all have stopped or the deadline has passed.  ERR_PERM: not
 * even one may be traced.  Threads that are gone or traced by another are passed over. */
MUST_CHECK enum err_code stopper_stop(struct stopper *stopper, const int32_t *tids,
                                      size_t count, uint64_t deadline_ns);

/* Was the thread, which is stopped, waiting in a system call?  Having been let go it must run to wait
 * again, so that /proc says of the next look that it runs.  false: no, or it cannot be told (of
 * processors other than x86-64 and ARM64). */
bool stopper_has_interrupted_wait(int32_t tid);

/* Lets all go on. */
void stopper_resume(struct stopper *stopper);

#endif /* SAMPLER_PROCESS_STOPPER_H */
