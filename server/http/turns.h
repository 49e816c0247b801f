/*
 * turns - the threads that answer requests, each when the fair queue gives it its turn.
 *
 * A thread is started when a request waits and none is idle.  Threads stay, so that their stacks are a known part of what
 * this process has mapped.
 *
 * Ownership: the caller's storage, and the caller's turns, from turns_enter until `resume` is called.
 * Threads: any; turns_end and turns_deinit once.
 * Limits: FAIR_QUEUE_RUNNING threads.
 */
#ifndef SERVER_HTTP_TURNS_H
#define SERVER_HTTP_TURNS_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/http/fair_queue.h"

struct traffic;

struct turns_calls {
    void (*suspend)(struct fair_turn *turn); /* its request sleeps; the lock is held */
    void (*answer)(struct fair_turn *turn, int refusal); /* refusal: a status; 0: none */
    void (*resume)(
        struct fair_turn *turn); /* its request has been answered, and its turn has ended */
};

struct turns {
    const struct turns_calls *calls;
    struct traffic *traffic; /* NULL: nobody counts */
    atomic_bool is_ending;
    pthread_mutex_t lock;   /* guards what follows */
    pthread_cond_t changed; /* for workers, and for turns_end */
    unsigned workers, idle; /* threads that answer; those that have no turn */
    struct fair_queue queue;
};

void turns_init(struct turns *turns, const struct turns_calls *calls, struct traffic *traffic);
void turns_deinit(struct turns *turns);

/* FAIR_WAITS: another thread answers the request; otherwise the caller refuses it. */
enum fair_answer turns_enter(struct turns *turns, struct fair_turn *turn);

/* Refuses requests that wait, and returns when no thread is left. */
void turns_end(struct turns *turns);

#endif /* SERVER_HTTP_TURNS_H */
