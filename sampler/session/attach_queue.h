/*
 * joining - processes that are to become members of a session that runs already: found and opened
 * by one thread, taken by the sampling thread.
 *
 * Ownership: the caller's storage; attach_queue_deinit closes what nobody took.
 * Threads: any put, one takes.
 * Limits: ATTACH_QUEUE_MAX wait at a time.
 * Depends on: member.
 */
#ifndef SAMPLER_SESSION_ATTACH_QUEUE_H
#define SAMPLER_SESSION_ATTACH_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct target;

enum { ATTACH_QUEUE_MAX = 64 };

struct attach_queue {
    pthread_mutex_t mutex;
    struct target *items[ATTACH_QUEUE_MAX];
    size_t count;
    atomic_size_t waiting; /* the same, to be looked at without the lock */
};

void attach_queue_init(struct attach_queue *queue);
void attach_queue_deinit(struct attach_queue *queue);

/* Takes the member on success.  ERR_LIMIT. */
MUST_CHECK enum err_code attach_queue_put(struct attach_queue *queue, struct target *target,
                                          struct err *err);
/* NULL: none waits; costs one atomic read. */
struct target *attach_queue_take(struct attach_queue *queue);

#endif /* SAMPLER_SESSION_ATTACH_QUEUE_H */
