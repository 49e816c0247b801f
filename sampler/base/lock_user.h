/*
 * lock_user - who waits for locks and holds them.
 */
#ifndef SAMPLER_BASE_LOCK_USER_H
#define SAMPLER_BASE_LOCK_USER_H

#include <stdint.h>
#include <sys/types.h>

/* A thread, or an asyncio task in it, that waits for locks and holds them. */
struct lock_user {
    pid_t pid;
    int32_t tid;   /* native, on this host; of a task that of its event loop, 0: unknown */
    uint64_t task; /* its address; 0: the thread itself */
};

/* The order of lists of them: below, at or above 0. */
static inline int lock_user_compare(struct lock_user one, struct lock_user other)
{
    return one.pid != other.pid   ? (one.pid < other.pid ? -1 : 1)
           : one.tid != other.tid ? (one.tid < other.tid ? -1 : 1)
                                  : (one.task > other.task) - (one.task < other.task);
}

#endif /* SAMPLER_BASE_LOCK_USER_H */
