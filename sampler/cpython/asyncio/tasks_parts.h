/*
 * tasks_parts - shared by the files of tasks: tasks_lists.c finds the tasks of 3.14 and later,
 * tasks_sets.c those of earlier versions, and tasks.c reads them.
 *
 * Depends on: tasks.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H
#define SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H

#include "sampler/cpython/asyncio/tasks.h"

/* Adds the task whose bytes are `copy`.  *out NULL: the table has it already, or is full. */
MUST_CHECK enum err_code tasks_add(struct tasks *tasks, remote_addr addr,
                                   const unsigned char *copy, uint64_t ident,
                                   struct task **out);
struct task *tasks_find(const struct tasks *tasks, remote_addr addr);
MUST_CHECK enum err_code tasks_add_edge(struct tasks *tasks, const struct task *task,
                                        const struct task *awaiter);
/* The addresses in a set object, at most `room`.  ERR_CORRUPT: not a set. */
MUST_CHECK enum err_code tasks_read_set(struct tasks *tasks, remote_addr set,
                                        remote_addr *members, size_t room, size_t *count_out);
uint32_t tasks_first_field(const struct tasks *tasks); /* offset of an object's first field */

/* 3.14 and later. */
bool tasks_have_lists(const struct tasks *tasks);
MUST_CHECK enum err_code tasks_find_lists(struct tasks *tasks);
MUST_CHECK enum err_code tasks_collect_lists(struct tasks *tasks);
MUST_CHECK enum err_code tasks_link_lists(struct tasks *tasks);

/* Until 3.13. */
MUST_CHECK enum err_code tasks_find_sets(struct tasks *tasks);
MUST_CHECK enum err_code tasks_collect_sets(struct tasks *tasks);
MUST_CHECK enum err_code tasks_link_sets(struct tasks *tasks);

#endif /* SAMPLER_CPYTHON_ASYNCIO_TASKS_PARTS_H */
