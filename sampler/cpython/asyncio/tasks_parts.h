/*
 * tasks_parts - what the files of tasks share: tasks_lists.c finds tasks from 3.14 on, tasks_sets.c before,
 * tasks.c reads them.
 *
 * Depends on: tasks.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H

#include "sampler/cpython/asyncio/tasks.h"

/* Adds the task whose bytes are `copy`.  *out NULL: it is known already, or there is no room. */
MUST_CHECK enum err_code tasks_add(struct tasks *tasks, remote_addr addr,
                                   const unsigned char *copy, uint64_t ident,
                                   struct task **out);
struct task *tasks_find(const struct tasks *tasks, remote_addr addr);
MUST_CHECK enum err_code tasks_add_edge(struct tasks *tasks, const struct task *task,
                                        const struct task *awaiter);
/* The addresses in a set object; at most `room`.  ERR_CORRUPT: it is none. */
MUST_CHECK enum err_code tasks_read_set(struct tasks *tasks, remote_addr set,
                                        remote_addr *members, size_t room, size_t *count_out);
uint32_t tasks_behind_head(const struct tasks *tasks); /* of an object: its first field */

/* From 3.14 on. */
bool tasks_have_lists(const struct tasks *tasks);
MUST_CHECK enum err_code tasks_find_lists(struct tasks *tasks);
MUST_CHECK enum err_code tasks_collect_lists(struct tasks *tasks);
MUST_CHECK enum err_code tasks_link_lists(struct tasks *tasks);

/* Until 3.13. */
MUST_CHECK enum err_code tasks_find_sets(struct tasks *tasks);
MUST_CHECK enum err_code tasks_collect_sets(struct tasks *tasks);
MUST_CHECK enum err_code tasks_link_sets(struct tasks *tasks);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H */
