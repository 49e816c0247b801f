/*
 * lock_use - a lock that a thread or an asyncio task waits for or holds at the instant of a sample.
 *
 * A lock is any object that threads or tasks wait for: of threading, queue, concurrent.futures, multiprocessing, asyncio, or a thread
 * or task whose end is waited for; the GIL of an interpreter; or a mutex of native code.
 */
#ifndef SAMPLER_BASE_LOCK_USE_H
#define SAMPLER_BASE_LOCK_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/strtab.h"

enum { LOCK_USES_MAX = 24 };

/* The place of the text that names a lock: of the call or `with` that waits, or of the `with` that holds. */
struct lock_text {
    int32_t line, end_line;     /* 0: unknown */
    int32_t column, end_column; /* in bytes; -1: unknown */
};

/* The place of a semaphore in a file that processes share, as the kernel says: that of one and the same lock in all of them. */
struct lock_place {
    uint64_t device, inode, offset; /* inode 0: unknown, or not shared */
};

static inline bool lock_place_is_same(const struct lock_place *a, const struct lock_place *b)
{
    return a->inode == b->inode && a->device == b->device && a->offset == b->offset;
}

struct lock_use {
    uint64_t object; /* its address */
    uint64_t lock;   /* what threads take by it: the lock of a condition; else the object */
    str_id type;     /* "threading.Condition" */
    str_id function, file; /* of the frame that waits or holds */
    int32_t line;          /* 0: unknown */
    struct lock_text text; /* in that file */
    bool is_waited;        /* else it is held */
    bool is_timed;         /* the wait ends after a time */
    bool may_be_held;      /* a wait for what threads hold in `with` blocks */
    bool is_joined;        /* the owner is the thread or task that is waited for */
    bool has_owner;        /* the object says who has it */
    int32_t owner_tid;     /* native, on this host; 0: none, or unknown */
    uint64_t owner_task;   /* the task in that thread; 0: the thread itself */
    uint64_t semaphore;    /* of multiprocessing: where it lies in its process; 0: it is none */
    struct lock_place place; /* of the semaphore */
    str_id expression; /* the text of the source, where a table of texts has it; 0: unknown */
    uint64_t
        gil_turn; /* of the GIL: how often it has gone from thread to thread, plus 1; 0: it is another lock */
};

/* An asyncio task. */
struct lock_task {
    uint64_t address; /* 0: none, but the thread itself */
    str_id name;      /* 0: the program has not named it */
    uint64_t number;  /* then it is named "Task-NUMBER"; 0: unknown */
    bool is_running;
};

/* All that is known of one thread, or of one task. */
struct lock_report {
    pid_t pid;
    int32_t tid; /* native, on this host; of a task that of its event loop, 0: unknown */
    const struct lock_use
        *uses; /* the waits first, then the innermost held one; a thread has one wait */
    size_t count;
    /* How often the thread began to wait until after the reading; of one that waits for the GIL, which wakes up now and then, gil_turn; of
     * a task, since when it waits; 0: unknown. */
    uint64_t switches;
    struct lock_task task;
};

#endif /* SAMPLER_BASE_LOCK_USE_H */
