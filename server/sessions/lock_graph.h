/*
 * lock_graph - which thread or asyncio task waits for which, at one instant of some processes.
 *
 * A thread waits for the one that holds what it waits for: that the object names as its owner, that is in a `with` block of it, or
 * that it joins.  A task waits so for tasks and threads, and for the thread that runs its event loop.
 *
 * A thread or task is stuck if all that could let it go on are stuck.  It is not if it gives up after a time, if a task that does so
 * awaits it, or if it was not found twice in the same wait.  A cycle of those that are stuck is a deadlock, if there is an instant at
 * which all of them were in these waits: they are not read at one instant, so each has to be found in one and the same wait before and
 * after it.
 *
 * Ownership: the caller's storage; lock_graph_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: LOCK_GRAPH_MAX_THREADS threads and tasks; LOCK_GRAPH_MAX_EDGES waits for one of them, and no deadlocks if there are more;
 * LOCK_GRAPH_MAX_CYCLE threads of a cycle that a caller has room for.
 */
#ifndef SERVER_SESSIONS_LOCK_GRAPH_H
#define SERVER_SESSIONS_LOCK_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/lock_use.h"

enum {
    LOCK_GRAPH_MAX_THREADS = 1 << 15,
    LOCK_GRAPH_MAX_EDGES = 1 << 19,
    LOCK_GRAPH_MAX_CYCLE = 64
};

struct session_locks;

/* A thread or a task. */
struct lock_thread {
    pid_t pid;
    int32_t tid;
    struct lock_task task;
    struct lock_use *uses;
    size_t count;
    uint64_t from_ns, to_ns; /* the first and the last reading that found it in the same wait */
    uint64_t switches;       /* as in lock_report */
    bool is_stuck;
    bool is_stuck_in_thread; /* of a task: the thread of its loop cannot go on */
    uint32_t next;           /* of a stuck one: the item that it waits for */
};

struct lock_graph {
    struct lock_thread *items; /* in the order of lock_user_compare */
    size_t count, room;
    uint64_t secret;      /* part of each hash */
    struct idmap by_lock; /* of the notes */
    struct lock_note {
        uint64_t lock;
        struct lock_place place;
        pid_t pid;
        int32_t tid;
        uint64_t task;
        bool is_waited;
    } * notes; /* threads and tasks that have a use of a lock, or had one */
    size_t note_count, note_room;
    bool lacks_memory;
};

/* The thread or task that another one waits for. */
struct lock_holder {
    const struct lock_thread *thread; /* NULL: the holder is not among them */
    const struct lock_use *use; /* where it holds the lock; NULL: only the object says so */
    int32_t tid;                /* 0: nobody is known to hold it, but perhaps a task */
    uint64_t task;              /* 0: the thread itself */
};

void lock_graph_deinit(struct lock_graph *graph);
/* Replaces what is known of the thread.  from_ns, to_ns: as in lock_thread. */
void lock_graph_note(struct lock_graph *graph, const struct lock_report *report,
                     uint64_t from_ns, uint64_t to_ns);
/* Finds who is stuck; needed before cycles are asked for. */
void lock_graph_solve(struct lock_graph *graph);
/* Adds the threads and tasks of a session, and finds who is stuck. */
void lock_graph_take(struct lock_graph *graph, const struct session_locks *locks);

/* NULL: nothing is known of it. */
const struct lock_thread *lock_graph_find(const struct lock_graph *graph, pid_t pid,
                                          int32_t tid);
/* Was the thread found in the same wait by more than one reading? */
bool lock_thread_stays(const struct lock_thread *thread);
const struct lock_thread *lock_graph_find_task(const struct lock_graph *graph, pid_t pid,
                                               int32_t tid, uint64_t task);
/* NULL: the thread waits for no lock. */
const struct lock_use *lock_thread_wait(const struct lock_thread *thread);
struct lock_holder lock_graph_holder(const struct lock_graph *graph,
                                     const struct lock_thread *thread);
/* Who of the process holds what is waited for so, or who of another process that shares it. */
struct lock_holder lock_graph_find_holder(const struct lock_graph *graph, pid_t pid,
                                          const struct lock_use *wait);
/* Does nobody hold it? */
static inline bool lock_holder_is_none(const struct lock_holder *holder)
{
    return !holder->tid && !holder->task;
}
/* Does anybody wait for what this thread holds by `use`? */
bool lock_graph_is_wanted(const struct lock_graph *graph, const struct lock_thread *thread,
                          const struct lock_use *use);

/* The threads and tasks of the cycle whose first one, in the order of items, is `first`, each waiting for the next one.  Returns how many, at most
 * `most`; 0: there is none. */
size_t lock_graph_cycle(const struct lock_graph *graph, const struct lock_thread *first,
                        const struct lock_thread **out, size_t most);

/* How many cycles of at most LOCK_GRAPH_MAX_CYCLE threads there are. */
size_t lock_graph_count_cycles(const struct lock_graph *graph);

#endif /* SERVER_SESSIONS_LOCK_GRAPH_H */
