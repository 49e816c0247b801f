/*
 * lock_board - what the threads and asyncio tasks of a session wait for and hold, and how long they have waited for each lock, for readers.
 *
 * Waits are counted at readings, each of which stands for the time since the one before.  What a thread waits for does not change
 * while it stands still, so it is read once.
 *
 * Ownership: the caller's storage; lock_board_deinit accepts a zeroed one.  The reader owns a copy.
 * Threads: the sampling thread writes; any thread copies.
 * Limits: SESSION_MAX_LOCK_THREADS threads and tasks, others are left out; SESSION_MAX_LOCKS locks, of which the least waited for make room;
 * SESSION_LOCK_LINES lines of each.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_FOLD_LOCK_BOARD_H
#define SAMPLER_SESSION_FOLD_LOCK_BOARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/lock_use.h"
#include "sampler/base/lock_user.h"
#include "sampler/session.h"

struct lock_board_thread {
    pid_t pid;
    int32_t tid;
    struct lock_task task;
    struct lock_use *uses;
    size_t count;
    uint64_t since_ns;       /* it stands still; 0: it moves, or that is not known */
    uint64_t noted_ns;       /* when it was read */
    uint64_t waits_ns;       /* since when it waits for the same */
    uint64_t switches;       /* at noted_ns */
    uint64_t first_noted_ns; /* of the readings that found it in the same wait */
    bool is_new_wait;        /* which is not counted yet */
    uint64_t reading;        /* the last one that found it */
};

/* A lock that is held, and where. */
struct lock_board_held {
    pid_t pid;
    uint64_t lock;
    const struct lock_use *use;
};

struct lock_board {
    pthread_mutex_t mutex;             /* guards what follows, but for `held` and `reading` */
    struct lock_board_thread *threads; /* in the order of lock_user_compare */
    size_t count, room;
    struct session_lock *locks; /* SESSION_MAX_LOCKS of them; NULL: none yet */
    size_t lock_count;
    uint64_t created_ns; /* of the session */
    uint64_t read_ns;    /* the last reading */
    uint64_t measured_ns, dropped, dropped_ns;
    uint64_t reading;             /* its number */
    struct lock_board_held *held; /* of the reading, by pid and lock */
    size_t held_count, held_room;
};

void lock_board_init(struct lock_board *board);
void lock_board_deinit(struct lock_board *board);

/* In this order, for a session in which waits are counted: begin starts a reading; each thread is kept or noted; find_held makes an
 * index of what is held, again when more was noted; count counts. */
void lock_board_begin(struct lock_board *board);
/* Is it known already what a thread or task waits for and holds that stands where it stands since then?  false: it has to be noted.
 * is_late: it can no longer be read, so that what was known last counts. */
bool lock_board_keep(struct lock_board *board, struct lock_user user, uint64_t since_ns,
                     uint64_t now_ns, bool is_late);
/* Replaces what is known of a thread that was read at `now_ns`.  since_ns: it stands still; 0: it moves, or that is not known. */
MUST_CHECK enum err_code lock_board_note(struct lock_board *board,
                                         const struct lock_report *report, uint64_t since_ns,
                                         uint64_t now_ns);
/* Was it kept or noted in this reading? */
bool lock_board_is_read(const struct lock_board *board, struct lock_user user);
MUST_CHECK enum err_code lock_board_find_held(struct lock_board *board);
/* Does a thread of the process wait for a lock of which nobody knows where it is held? */
bool lock_board_lacks_holder(const struct lock_board *board, pid_t pid);
/* The reading stands for so much time. */
MUST_CHECK enum err_code lock_board_count(struct lock_board *board, uint64_t now_ns,
                                          uint64_t step_ns);

MUST_CHECK enum err_code lock_board_copy(struct lock_board *board, struct session_locks *out,
                                         struct err *err);

#endif /* SAMPLER_SESSION_FOLD_LOCK_BOARD_H */
