/*
 * lock_board - what the threads of a session wait for and hold, for readers.
 *
 * Ownership: the caller's storage; lock_board_deinit accepts a zeroed one.  The reader owns a copy.
 * Threads: the sampling thread writes; any thread copies.
 * Limits: SAMPLER_MAX_LOCK_THREADS threads; the one that was read longest ago goes first.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_FOLD_LOCK_BOARD_H
#define SAMPLER_SESSION_FOLD_LOCK_BOARD_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/lock_use.h"
#include "sampler/sampler.h"

struct lock_board_thread {
    pid_t pid;
    int32_t tid;
    struct lock_use *uses;
    size_t count;
    uint32_t same_waits;
    uint64_t read_ns;
};

struct lock_board {
    pthread_mutex_t mutex;             /* guards what follows */
    struct lock_board_thread *threads; /* by pid and tid */
    size_t count, room;
    uint64_t created_ns; /* of the session */
    uint64_t read_ns;    /* the last reading */
};

void lock_board_init(struct lock_board *board);
void lock_board_deinit(struct lock_board *board);

/* Replaces what is known of a thread that was read at `now_ns`. */
MUST_CHECK enum err_code lock_board_note(struct lock_board *board,
                                         const struct lock_report *report, uint64_t now_ns);

/* A thread that goes on waits no longer; what it holds is kept, as it may hold it still. */
void lock_board_end_wait(struct lock_board *board, pid_t pid, int32_t tid, uint64_t now_ns);

/* Without the threads that were not read for ten seconds before the last reading: they have ended. */
MUST_CHECK enum err_code lock_board_copy(struct lock_board *board, struct sampler_locks *out,
                                         struct err *err);

#endif /* SAMPLER_SESSION_FOLD_LOCK_BOARD_H */
