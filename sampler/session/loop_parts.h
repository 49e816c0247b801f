/*
 * loop_parts - what the parts of loop share: loop.c is what others call, loop_thread.c what the
 * thread does, loop_attach.c how processes become members.
 *
 * Private to loop.
 *
 * Depends on: crew, joining, scout, sampler.h.
 */
#ifndef SAMPLER_SESSION_LOOP_PARTS_H
#define SAMPLER_SESSION_LOOP_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/sampler.h"
#include "sampler/session/attach_queue.h"
#include "sampler/session/child_tracker.h"
#include "sampler/session/targets.h"

struct loop {
    struct sampler_options options;
    struct targets targets;
    struct attach_queue queue;
    struct child_tracker *tracker; /* NULL: children are not followed */
    int end_fd;
    atomic_bool is_ending; /* it is stopped: no process is searched any more */

    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool stop, paused;
    struct sampler_status status;
    bool has_changed; /* rate or budget */
    double wanted_hz, max_cpu_percent;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
};

/* The thread; `context` is the loop. */
void *loop_main(void *context);

/* Makes members of what the options name. */
MUST_CHECK enum err_code loop_attach(struct loop *loop, struct err *err);
/* Takes what the scout has found and what was asked to join; what cannot is given back. */
void loop_grow(struct loop *loop);

#endif /* SAMPLER_SESSION_LOOP_PARTS_H */
