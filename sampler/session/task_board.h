/*
 * task_board - the asyncio tasks of a session as they were seen last, for others to see.
 *
 * Ownership: the caller's storage; task_board_deinit accepts a zeroed one.  A copy is the reader's.
 * Threads: the sampling thread writes, one at a time; any thread copies.
 * Limits: SAMPLER_MAX_TASKS rows; is_cut says that there are more.
 * Depends on: sampler.h, task_fold.
 */
#ifndef SAMPLER_SESSION_TASK_BOARD_H
#define SAMPLER_SESSION_TASK_BOARD_H

#include <pthread.h>

#include "sampler/base/err.h"
#include "sampler/sampler.h"
#include "sampler/session/task_fold.h"

struct task_board {
    pthread_mutex_t mutex;
    struct sampler_tasks next; /* the writer's */
    size_t room, awaiter_room;
    struct sampler_tasks shown;
};

void task_board_init(struct task_board *board);
void task_board_deinit(struct task_board *board);

/* Begins anew, adds the tasks of a process, and shows what was added. */
void task_board_begin(struct task_board *board);
MUST_CHECK enum err_code task_board_add(struct task_board *board, struct task_fold *fold,
                                        uint64_t created_ns);
void task_board_show(struct task_board *board);

MUST_CHECK enum err_code task_board_copy(struct task_board *board, struct sampler_tasks *out,
                                         struct err *err);

#endif /* SAMPLER_SESSION_TASK_BOARD_H */
