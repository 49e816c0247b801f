/*
 * joining - processes that are to become members of a session that runs already: found and opened
 * by one thread, taken by the sampling thread.
 *
 * Ownership: the caller's storage; joining_deinit closes what nobody took.
 * Threads: any put, one takes.
 * Limits: JOINING_MAX wait at a time.
 * Depends on: member.
 */
#ifndef SAMPLER_SESSION_ATTACH_QUEUE_H
#define SAMPLER_SESSION_ATTACH_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "sampler/base/err.h"

struct member;

enum { JOINING_MAX = 64 };

struct joining {
    pthread_mutex_t mutex;
    struct member *items[JOINING_MAX];
    size_t count;
    atomic_size_t waiting; /* the same, to be looked at without the lock */
};

void joining_init(struct joining *joining);
void joining_deinit(struct joining *joining);

/* Takes the member on success.  ERR_LIMIT. */
MUST_CHECK enum err_code joining_put(struct joining *joining, struct member *member,
                                     struct err *err);
/* NULL: none waits; costs one atomic read. */
struct member *joining_take(struct joining *joining);

#endif /* SAMPLER_SESSION_ATTACH_QUEUE_H */
