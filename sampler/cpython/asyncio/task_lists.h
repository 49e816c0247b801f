/*
 * task_lists - finds the asyncio tasks of 3.14 and later.
 *
 * Threads and interpreters have lists of their tasks, and a task knows its awaiters.  The section
 * .AsyncioDebug of _asyncio holds the offsets.
 *
 * Ownership: the caller's storage; borrows what the members point to.
 * Threads: none.
 * Limits: TASK_LISTS_MAX nodes whose tasks are not chosen.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASK_LISTS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASK_LISTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/asyncio/task_table.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/predicted_reads.h"
#include "sampler/cpython/threads/threads.h"

enum { TASK_LISTS_MAX = 1 << 20, TASK_LISTS_LINKS = 512 };

/* Nodes of lists that are followed, but whose tasks are not chosen: of this reading, and of the one before, whose links
 * are read in few calls. */
struct task_trail {
    remote_addr *nodes, *before;
    size_t count, before_count, at;
    remote_addr links[TASK_LISTS_LINKS];
    size_t first_link, link_count;
    size_t single; /* links that were read one by one */
};

struct task_lists {
    int pid;
    const struct layout *layout;
    const struct thread_list *threads;
    struct predicted_reads *reads;
    struct task_table *table;
    struct task_list_offsets {
        uint32_t bytes, name, coroutine, node, awaited_by, awaited_by_is_set; /* of a task */
        uint32_t interp_tasks, thread_running, thread_tasks;
    } offsets; /* set when they have been found */
    struct task_trail trail;
};

void task_lists_deinit(struct task_lists *lists);

/* Does the version have lists of tasks? */
bool task_lists_exist(const struct layout *layout);

/* Finds the offsets; needed before the others. */
MUST_CHECK enum err_code task_lists_find(struct task_lists *lists);
/* Adds the tasks of all lists to the table. */
MUST_CHECK enum err_code task_lists_collect(struct task_lists *lists);
/* Adds the edges between the tasks of the table. */
MUST_CHECK enum err_code task_lists_link(struct task_lists *lists);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASK_LISTS_H */
