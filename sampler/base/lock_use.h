/*
 * lock_use - a lock that a thread waits for or holds at the instant of a sample.
 *
 * A lock is any object that threads wait for: of threading, queue, concurrent.futures, multiprocessing, or a thread that is joined.
 */
#ifndef SAMPLER_BASE_LOCK_USE_H
#define SAMPLER_BASE_LOCK_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/strtab.h"

enum { LOCK_USES_MAX = 24 };

struct lock_use {
    uint64_t object; /* its address */
    uint64_t lock;   /* what threads take by it: the lock of a condition; else the object */
    str_id type;     /* "threading.Condition" */
    str_id function, file; /* of the frame that waits or holds */
    int32_t line;          /* 0: unknown */
    bool is_waited;        /* else it is held */
    bool is_timed;         /* the wait ends after a time */
    bool may_be_held;      /* a wait for what threads hold in `with` blocks */
    bool is_joined;        /* the owner is the thread that is waited for */
    bool has_owner;        /* the object says who has it */
    int32_t owner_tid;     /* native, on this host; 0: none, or unknown */
};

/* All that is known of one thread. */
struct lock_report {
    pid_t pid;
    int32_t tid;                 /* native, on this host */
    const struct lock_use *uses; /* the wait first, then the innermost held one */
    size_t count;
    uint64_t
        switches; /* how often the thread began to wait until after the reading; 0: unknown */
};

#endif /* SAMPLER_BASE_LOCK_USE_H */
