/*
 * task_board - the asyncio tasks of a session at the last reading, for readers.
 *
 * Ownership: the caller's storage; task_board_deinit accepts a zeroed one.  The reader owns a copy.
 * Threads: the sampling thread writes; any thread copies.
 * Limits: SESSION_MAX_TASKS rows; is_cut says that there were more.
 */
#ifndef SAMPLER_SESSION_FOLD_TASK_BOARD_H
#define SAMPLER_SESSION_FOLD_TASK_BOARD_H

#include <pthread.h>

#include "sampler/base/err.h"
#include "sampler/session.h"
#include "sampler/session/fold/task_fold.h"

struct task_board {
    pthread_mutex_t mutex;
    struct session_tasks next; /* being built by the writer */
    size_t room, awaiter_room;
    struct session_tasks shown;
};

void task_board_init(struct task_board *board);
void task_board_deinit(struct task_board *board);

/* In this order: begin starts a list, add adds the tasks of one process, show publishes the list. */
void task_board_begin(struct task_board *board);
MUST_CHECK enum err_code task_board_add(struct task_board *board, struct task_fold *fold,
                                        uint64_t created_ns);
void task_board_show(struct task_board *board);

MUST_CHECK enum err_code task_board_copy(struct task_board *board, struct session_tasks *out,
                                         struct err *err);

#endif /* SAMPLER_SESSION_FOLD_TASK_BOARD_H */
