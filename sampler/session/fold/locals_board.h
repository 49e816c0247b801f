/*
 * locals_board - the variables of the frames of a session's threads, each read once, for readers.
 *
 * Ownership: the caller's storage; locals_board_deinit accepts a zeroed one.  The reader owns a copy.
 * Threads: the sampling thread writes; any thread copies.
 * Limits: SESSION_MAX_LOCALS_THREADS threads, SESSION_MAX_LOCALS_BYTES; others are left out.
 */
#ifndef SAMPLER_SESSION_FOLD_LOCALS_BOARD_H
#define SAMPLER_SESSION_FOLD_LOCALS_BOARD_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/session.h"

struct locals_board {
    pthread_mutex_t mutex; /* guards what follows */
    struct session_locals locals;
    size_t thread_room;
    struct buffer bytes;
    uint64_t spent_ns; /* on reading them; the sampling thread's own */
};

void locals_board_init(struct locals_board *board);
void locals_board_deinit(struct locals_board *board);

/* Adds a thread, as frame_variables.h has it.  *row_out: its number, from 1 on; 0: it was left out. */
MUST_CHECK enum err_code locals_board_add(struct locals_board *board, pid_t pid, int32_t tid,
                                          const struct buffer *frames, uint32_t *row_out);
/* The node of the sample that the variables were read with; readers see the thread from now on. */
void locals_board_place(struct locals_board *board, uint32_t row, uint32_t node);

MUST_CHECK enum err_code locals_board_copy(struct locals_board *board,
                                           struct session_locals *out, struct err *err);

#endif /* SAMPLER_SESSION_FOLD_LOCALS_BOARD_H */
