/*
 * task_sets - finds the asyncio tasks of 3.13 and earlier.
 *
 * asyncio.tasks has weak sets of tasks.  A task has a field with what it waits for, which shows which task
 * it awaits: a task, or the future of asyncio.gather.  Which tasks are awaited through asyncio.wait,
 * wait_for, shield and task groups is unknown.  The offsets of a task's fields are found by searching
 * one task for its first field that is a coroutine; what it waits for is the field before that.
 *
 * Ownership: the caller's storage; borrows what the members point to.
 * Threads: none.
 * Limits: remembers TASK_SETS_MAX_LOOPS event loops and TASK_SETS_MAX_TYPES types; others are read again.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASK_SETS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASK_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/asyncio/coroutine.h"
#include "sampler/cpython/asyncio/task_table.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/predicted_reads.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/threads.h"

enum { TASK_SETS_MAX_LOOPS = 64, TASK_SETS_MAX_TYPES = 64 };

struct task_sets {
    const struct runtime *runtime;
    const struct layout *layout;
    const struct thread_list *threads;
    struct predicted_reads *reads;
    struct coroutines *coroutines;
    struct task_table *table;
    uint32_t bytes, name, coroutine; /* of a task; 0: not found yet */
    remote_addr sets[2];             /* the weak set, and the set of eager tasks */
    remote_addr current;             /* a dict: event loop -> task */
    struct task_loop {
        remote_addr addr;
        uint64_t ident;
    } loops[TASK_SETS_MAX_LOOPS];
    size_t loop_count;
    struct task_type {
        remote_addr addr;
        bool is_task;
    } types[TASK_SETS_MAX_TYPES];
    size_t type_count;
};

/* Finds the sets of the main interpreter; needed before the others.  What an earlier call found stays
 * valid if it fails. */
MUST_CHECK enum err_code task_sets_find(struct task_sets *sets);
/* Adds the tasks of both sets to the table. */
MUST_CHECK enum err_code task_sets_collect(struct task_sets *sets);
/* Adds the edges that the tasks of the table show in what they wait for. */
MUST_CHECK enum err_code task_sets_link(struct task_sets *sets);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASK_SETS_H */
