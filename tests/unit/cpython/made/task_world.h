/*
 * task_world - simulated asyncio tasks: an interpreter of 3.14 or 3.15 whose one thread has a list of them.
 *
 * Ownership: the caller's storage.
 */
#ifndef TESTS_UNIT_CPYTHON_MADE_TASK_WORLD_H
#define TESTS_UNIT_CPYTHON_MADE_TASK_WORLD_H

#include "sampler/cpython/asyncio/tasks.h"
#include "tests/unit/cpython/made/fake_python.h"

/* The offsets in the simulated tasks and threads, as _asyncio would report them. */
enum {
    TASK_WORLD_WORD = 8,
    TASK_WORLD_BYTES = 96,
    TASK_WORLD_NAME = 16,
    TASK_WORLD_AWAITED_BY = 24,
    TASK_WORLD_IS_SET = 32,
    TASK_WORLD_COROUTINE = 40,
    TASK_WORLD_NODE = 48,
    TASK_WORLD_RUNNING = 520,
};

/* gi_frame_state. */
enum task_doing { TASK_SUSPENDED, TASK_AWAITING, TASK_EXECUTING, TASK_CLEARED, TASK_DOINGS };

struct task_world {
    struct fake_python python;
    struct strtab strings;
    struct code_table codes;
    struct thread_list threads;
    struct thread thread, *items[1];
    struct tasks tasks;
    remote_addr coroutine_type, task_type, future_type;
    remote_addr head, last; /* of the list of tasks */
    unsigned minor;
};

void task_world_begin(struct task_world *world, unsigned minor);
void task_world_end(struct task_world *world);
void task_world_put(struct task_world *world, remote_addr addr, uint64_t value);
void task_world_set(struct task_world *world, remote_addr coroutine, enum task_doing doing);
/* A coroutine that awaits an object, or nothing. */
remote_addr task_world_coroutine(struct task_world *world, const char *name,
                                 remote_addr awaited);
/* An iterator over a future, which is itself. */
remote_addr task_world_future(struct task_world *world);
/* NULL: it has no name. */
remote_addr task_world_task(struct task_world *world, const char *name, remote_addr runs);

#endif /* TESTS_UNIT_CPYTHON_MADE_TASK_WORLD_H */
