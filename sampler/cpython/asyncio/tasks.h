/*
 * tasks - the asyncio tasks of a process, where each of them waits, and which tasks await it.
 *
 * In 3.14 and later, threads and interpreters have lists of their tasks, and a task knows its
 * awaiters.  The section .AsyncioDebug of _asyncio holds the offsets.
 *
 * In earlier versions, asyncio.tasks has weak sets of tasks.  The object that a task's innermost frame
 * waits for shows which task it awaits: a task, or the future of asyncio.gather.  Which tasks are
 * awaited through asyncio.wait, wait_for, shield and task groups is unknown there.  The offsets of a
 * task's fields are found by searching one task for its first field that is a coroutine.
 *
 * A reading takes time, so tasks may move during it.  All bytes are read again at the end; a task that
 * has moved is marked and has no frames.
 *
 * Only tasks of type _asyncio.Task are found, not those of trio, curio or classes written in Python.
 *
 * Ownership: the caller's storage; tasks_deinit accepts a zeroed one.  Names are interned into the
 * caller's strtab.
 * Threads: none.
 * Limits: TASKS_MAX tasks; TASKS_MAX_FRAMES frames and TASKS_MAX_EDGES edges of all of them;
 * is_cut says that there are more.
 * Depends on: base, process, threads, code, coroutine, predicted_reads, dict.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASKS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/asyncio/coroutine.h"
#include "sampler/cpython/threads/threads.h"

enum {
    TASKS_MAX = 1 << 13,
    TASKS_MAX_FRAMES = 1 << 17,
    TASKS_MAX_EDGES = 1 << 16,
    TASKS_MAX_LOOPS = 64,
    TASKS_MAX_TYPES = 64,
};

struct task {
    remote_addr addr, coroutine, name_object;
    remote_addr frame;  /* its outermost frame */
    remote_addr awaits; /* a future, a task, or another object; 0: unknown */
    uint64_t ident;     /* of the thread that runs its event loop; 0: unknown */
    str_id name;        /* 0: the program has not named it */
    uint64_t number;    /* of an unnamed task: 3 for "Task-3"; 0: unknown */
    bool is_running;
    bool is_moving;  /* changed while it was read, and has no frames */
    bool is_awaiter; /* awaits a task of the table */
    uint32_t first_frame, frame_count;
    uint32_t first_awaiter, awaiter_count;
    uint64_t seen_ns;  /* the first reading that found it */
    uint64_t since_ns; /* the first reading that found it where it still waits */
    uint32_t tag;      /* for the caller; stays while readings find the task with this name */
};

struct task_edge {
    uint32_t task, awaiter;
};

/* Addresses and offsets, set when they have been found. */
struct task_places {
    bool is_found;
    uint64_t searched_ns;
    /* Offsets, 3.14 and later. */
    uint32_t task_bytes, task_name, task_coroutine, task_node, task_awaited_by,
        task_awaited_by_is_set;
    uint32_t interp_tasks, thread_running, thread_tasks;
    /* Of the main interpreter, until 3.13. */
    remote_addr sets[2]; /* the weak set, and the set of eager tasks */
    remote_addr current; /* a dict: event loop -> task */
};

struct task_type {
    remote_addr addr;
    bool is_task;
};

struct task_loop {
    remote_addr addr;
    uint64_t ident;
};

struct tasks {
    int pid;
    const struct runtime *runtime;
    struct memory *memory;
    const struct layout *layout;
    const struct thread_list *threads;
    struct strtab *strings;
    struct predicted_reads reads;
    struct coroutines coroutines;
    struct coroutine_chain chain; /* scratch */
    struct object_bytes scratch;
    struct task_places places;
    struct task_loop loops[TASKS_MAX_LOOPS]; /* until 3.13 */
    size_t loop_count;
    struct task_type types[TASKS_MAX_TYPES]; /* until 3.13 */
    size_t type_count;
    struct task *items, *previous; /* of the last reading, and of the one before it */
    size_t count;
    struct walk_frame *frames;
    size_t frame_count;
    struct task_edge *edges;
    size_t edge_count;
    uint32_t *awaiters;
    struct idmap kinds_of_code; /* code_id -> 1: code of coroutines, 0: other code */
    struct idmap by_addr, by_frame, previous_by_addr;
    uint64_t read_ns;
    uint64_t cost_ns; /* CPU time of the last reading */
    bool is_cut;
};

/* The arguments must outlive the tasks. */
void tasks_init(struct tasks *tasks, int pid, struct memory *memory,
                const struct runtime *runtime, const struct thread_list *threads,
                struct code_table *codes, struct strtab *strings);
void tasks_deinit(struct tasks *tasks);
/* Forgets all tasks; needed when the code table has been cleared. */
void tasks_clear(struct tasks *tasks);

/* Reads all tasks.  A process that does not use asyncio has none. */
MUST_CHECK enum err_code tasks_read(struct tasks *tasks, uint64_t now_ns);

/* The thread that runs the task's event loop; NULL: unknown. */
const struct thread *tasks_thread(const struct tasks *tasks, const struct task *task);

/* The task whose outermost frame is at `frame`; NULL: none. */
struct task *tasks_of_frame(const struct tasks *tasks, remote_addr frame);

/* Is this the frame of a coroutine or generator?  Reads memory once for each code object. */
bool tasks_is_coroutine(struct tasks *tasks, remote_addr frame, code_id code);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASKS_H */
