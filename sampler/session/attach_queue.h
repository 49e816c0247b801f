/*
 * attach_queue - processes on their way into a running session: any thread finds and opens them,
 * the sampling thread takes them.
 *
 * Ownership: the caller's storage; attach_queue_deinit closes targets that nobody took.
 * Threads: any thread puts, one takes.
 * Limits: ATTACH_QUEUE_MAX targets.
 */
#ifndef SAMPLER_SESSION_ATTACH_QUEUE_H
#define SAMPLER_SESSION_ATTACH_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct target;

enum { ATTACH_QUEUE_MAX = 64 };

struct attach_queue {
    pthread_mutex_t mutex;
    struct target *items[ATTACH_QUEUE_MAX];
    size_t count;
    bool is_closed;
    atomic_size_t waiting; /* equals count; read without the lock */
};

void attach_queue_init(struct attach_queue *queue);
void attach_queue_deinit(struct attach_queue *queue);

/* Closes the targets that nobody took; no others come. */
void attach_queue_close(struct attach_queue *queue);
/* Takes ownership of the target on success.  ERR_LIMIT: the queue is full; ERR_GONE: it was closed. */
MUST_CHECK enum err_code attach_queue_put(struct attach_queue *queue, struct target *target,
                                          struct err *err);
/* NULL: the queue is empty, at the cost of one atomic read. */
struct target *attach_queue_take(struct attach_queue *queue);

#endif /* SAMPLER_SESSION_ATTACH_QUEUE_H */
