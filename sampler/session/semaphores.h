/*
 * semaphores - where the semaphores of multiprocessing lie in files that processes share, so that a lock is the same one in all of them.
 *
 * An address says nothing outside of its process.  The kernel says which file a process maps there, whatever the process says of
 * itself (/proc/PID/maps).
 *
 * Ownership: the caller's storage; semaphores_deinit accepts one that was initialised.
 * Threads: any.
 * Limits: what was asked is kept for SEMAPHORES_KEPT_S; processes are asked for SEMAPHORES_ASK_MS, and the places of others are unknown.
 */
#ifndef SAMPLER_SESSION_SEMAPHORES_H
#define SAMPLER_SESSION_SEMAPHORES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/lock_use.h"

struct session_locks;

enum { SEMAPHORES_KEPT_S = 10, SEMAPHORES_ASK_MS = 500 };

struct semaphore {
    pid_t pid;
    uint64_t address;
    struct lock_place place;
    uint64_t asked_ns; /* 0: not yet */
};

struct semaphores {
    pthread_mutex_t mutex;
    struct semaphore *items; /* of the locks of the last call, by pid and address */
    size_t count;
};

void semaphores_init(struct semaphores *semaphores);
void semaphores_deinit(struct semaphores *semaphores);
/* Sets the places of all semaphores among the uses. */
void semaphores_place(struct semaphores *semaphores, struct session_locks *locks);

#endif /* SAMPLER_SESSION_SEMAPHORES_H */
