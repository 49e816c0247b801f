/*
 * tasks - the asyncio tasks of a process: which there are, where each waits, and for which others.
 *
 * From 3.14 on threads and interpreters have lists of their tasks, whose places _asyncio tells
 * in its section .AsyncioDebug, and a task knows who awaits it.  Before, asyncio.tasks has weak
 * sets of them, and who awaits whom is told by what their innermost frames wait for: a task, or
 * the future of asyncio.gather; what stands behind asyncio.wait, wait_for, shield and task groups is not
 * known there.  Where the fields of a task lie is found by looking at one: its coroutine is the
 * first of its fields that is one.
 *
 * A look is not an instant.  What a task was read from is read again at the end; one that has moved
 * meanwhile says so and has no frames.
 *
 * Tasks that are no _asyncio.Task (written in Python, of trio or curio) are not among them.
 *
 * Ownership: the caller's storage; tasks_deinit accepts a zeroed one.  Names are interned into the strtab
 * that was given.
 * Threads: none.
 * Limits: TASKS_MAX tasks; TASKS_MAX_FRAMES frames and TASKS_MAX_EDGES links of all of them;
 * is_cut says that there are more.
 * Depends on: base, target, threads, code, coroutine, revisit, dict.
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
    remote_addr frame;  /* the outermost of its frames */
    remote_addr awaits; /* a future, a task, or another object; 0: nothing known */
    uint64_t ident;     /* of the thread that runs its event loop, 0: unknown */
    str_id name;        /* 0: it has been given none */
    uint64_t number;    /* in the name it has then, "Task-3"; 0: unknown */
    bool is_running;
    bool is_moving;  /* it has changed while it was read, and has no frames */
    bool is_awaiter; /* of a task in the table */
    uint32_t first_frame, frame_count;
    uint32_t first_awaiter, awaiter_count;
    uint64_t seen_ns;  /* first */
    uint64_t since_ns; /* it has stood where it stands since this look or one before */
    uint32_t tag;      /* for the caller; kept as long as it is seen under this name */
};

struct task_edge {
    uint32_t task, awaiter;
};

/* Where things are; filled when they have been found. */
struct task_places {
    bool is_found;
    uint64_t searched_ns;
    /* From 3.14 on; offsets. */
    uint32_t task_bytes, task_name, task_coroutine, task_node, task_awaited_by,
        task_awaited_by_is_set;
    uint32_t interp_tasks, thread_running, thread_tasks;
    /* Before: of the main interpreter. */
    remote_addr sets[2]; /* weak ones, and of eager tasks */
    remote_addr current; /* a dictionary: event loop -> task */
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
    struct task_type types[TASKS_MAX_TYPES]; /* likewise */
    size_t type_count;
    struct task *items, *before; /* of this look, and of the one before */
    size_t count;
    struct walk_frame *frames;
    size_t frame_count;
    struct task_edge *edges;
    size_t edge_count;
    uint32_t *awaiters;
    struct idmap kinds_of_code; /* code_id -> 1: of coroutines, 0: not */
    struct idmap by_addr, by_frame, before_by_addr;
    uint64_t looked_ns;
    uint64_t cost_ns; /* of CPU time, the last look */
    bool is_cut;
};

/* All of them outlive the tasks. */
void tasks_init(struct tasks *tasks, int pid, struct memory *memory,
                const struct runtime *runtime, const struct thread_list *threads,
                struct code_table *codes, struct strtab *strings);
void tasks_deinit(struct tasks *tasks);
/* Forgets what was seen; needed when the code objects have been forgotten. */
void tasks_clear(struct tasks *tasks);

/* Looks at all tasks, now.  A process that does not use asyncio has none. */
MUST_CHECK enum err_code tasks_read(struct tasks *tasks, uint64_t now_ns);

/* The thread that runs its event loop, NULL: not known. */
const struct thread *tasks_thread(const struct tasks *tasks, const struct task *task);

/* The task whose outermost frame lies there, NULL: none that is known. */
struct task *tasks_of_frame(const struct tasks *tasks, remote_addr frame);

/* Is the frame there, of that code, the frame of a coroutine (or generator)?  Found out once for a code
 * object. */
bool tasks_is_coroutine(struct tasks *tasks, remote_addr frame, code_id code);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASKS_H */
