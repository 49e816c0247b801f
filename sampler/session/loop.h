/*
 * loop - the sampling thread, and the session that it shares with the callers of local_sampler.
 *
 * The thread samples the targets at every scheduled instant, takes in new targets, closes those
 * that have ended, and seals a window four times a second.
 *
 * Private to local_sampler.c and loop.c.
 *
 * Threads: loop_main is the sampling thread.  Fields below `mutex` are guarded by it; the other
 * fields do not change once the thread runs, or guard themselves.
 */
#ifndef SAMPLER_SESSION_LOOP_H
#define SAMPLER_SESSION_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/sampler_ops.h"
#include "sampler/session/attach_queue.h"
#include "sampler/session/children/child_tracker.h"
#include "sampler/session/targets.h"

struct local_sampler {
    struct sampler face;
    struct targets targets;
    struct attach_queue queue;
    struct child_tracker *tracker; /* NULL: children are not followed */
    /* sampler_stop was called, which cancels the search for an interpreter, too.  This and is_paused are written with
     * the mutex held, and read at every tick without it. */
    atomic_bool is_ending;
    atomic_bool is_paused;

    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct sampler_status status;
    bool has_changed; /* requested_hz or max_cpu_percent */
    double requested_hz, max_cpu_percent;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
};

/* The main function of the thread; `context` is the sampler. */
void *loop_main(void *context);

/* Adds the targets that the child tracker has found and those in the attach queue; closes a
 * target that cannot be added. */
void loop_take_new(struct local_sampler *sampler);

#endif /* SAMPLER_SESSION_LOOP_H */
