/*
 * loop - the sampling thread, and the session that it shares with the callers of local_session.
 *
 * The thread samples the targets at every scheduled instant, takes in new targets, closes those
 * that have ended, and seals a window four times a second.
 *
 * Private to local_session.c and loop.c.
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

#include "sampler/session/children/child_tracker.h"
#include "sampler/session/targets.h"
#include "sampler/session_ops.h"

enum { LOOP_MAX_JOINING = 64 };

struct local_session {
    struct session base;
    struct targets targets;
    struct child_tracker *tracker; /* NULL: children are not followed */
    /* session_stop was called, which cancels the search for an interpreter, too.  This and is_paused are written with
     * the mutex held, and read at every tick without it. */
    atomic_bool is_ending;
    atomic_bool is_paused;
    atomic_size_t waiting; /* the same: equals joining_count */

    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    struct session_status status;
    /* The attach queue: processes on their way into the session.  Any thread finds and opens them, the sampling thread
     * takes them. */
    struct target *joining[LOOP_MAX_JOINING];
    size_t joining_count;
    bool is_closed;   /* none joins any longer */
    bool has_changed; /* requested_hz or max_cpu_percent */
    double requested_hz, max_cpu_percent;
    uint64_t created_ns; /* CLOCK_MONOTONIC */
    uint64_t ended_ns;
};

/* The main function of the thread; `context` is the session. */
void *loop_main(void *context);

/* Puts a target into the attach queue, and takes ownership of it on success.  ERR_LIMIT: the queue is full; ERR_GONE: the session
 * has ended. */
MUST_CHECK enum err_code loop_join(struct local_session *local, struct target *target,
                                   struct err *err);
/* Closes the targets that nobody took; no others come. */
void loop_close_queue(struct local_session *local);

/* Adds the targets that the child tracker has found and those in the attach queue; closes a
 * target that cannot be added. */
void loop_take_new(struct local_session *local);

#endif /* SAMPLER_SESSION_LOOP_H */
