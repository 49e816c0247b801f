/*
 * fair_workers - the threads that answer requests, each when the fair queue gives it its turn.
 *
 * A thread is started when a request waits and none is idle.  Threads stay, so that their stacks are a known part of what
 * this process has mapped.
 *
 * Ownership: the caller's storage, and the caller's turns, from fair_workers_enter until `resume` is called.
 * Threads: any; fair_workers_end and fair_workers_deinit once.
 * Limits: FAIR_QUEUE_RUNNING threads.
 */
#ifndef SERVER_HTTP_FAIR_WORKERS_H
#define SERVER_HTTP_FAIR_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/http/fair_queue.h"

struct traffic;

struct fair_workers_calls {
    void (*suspend)(struct fair_turn *turn); /* its request sleeps; the lock is held */
    void (*answer)(struct fair_turn *turn, int refusal); /* refusal: a status; 0: none */
    void (*resume)(
        struct fair_turn *turn); /* its request has been answered, and its turn has ended */
};

struct fair_workers {
    const struct fair_workers_calls *calls;
    struct traffic *traffic; /* NULL: nobody counts */
    atomic_bool is_ending;
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t changed; /* for workers, and for fair_workers_end */
    unsigned workers, idle; /* threads that answer; those that have no turn */
    struct fair_queue queue;
};

void fair_workers_init(struct fair_workers *workers, const struct fair_workers_calls *calls,
                       struct traffic *traffic);
void fair_workers_deinit(struct fair_workers *workers);

/* FAIR_WAITS: another thread answers the request; otherwise the caller refuses it. */
enum fair_answer fair_workers_enter(struct fair_workers *workers, struct fair_turn *turn);

/* Refuses requests that wait, and returns when no thread is left. */
void fair_workers_end(struct fair_workers *workers);

#endif /* SERVER_HTTP_FAIR_WORKERS_H */
