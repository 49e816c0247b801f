/*
 * dump_motion - which threads moved between several dumps.
 *
 * A thread that has the same frames at the same instructions in each dump, and began no other wait between them, is stuck.  One that
 * begins to wait again and again at one instruction is in a loop, and moves.
 *
 * Ownership: the caller's storage; dump_motion_deinit accepts a zeroed one.
 * Threads: one at a time.
 */
#ifndef SERVER_SESSIONS_DUMP_MOTION_H
#define SERVER_SESSIONS_DUMP_MOTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"

struct dump;

enum motion { MOTION_UNKNOWN, MOTION_STUCK, MOTION_MOVES };

struct dump_motion {
    struct idmap by_thread;
    struct thread_motion {
        int32_t pid, tid;
        uint64_t stack; /* a hash of its frames and instructions */
        uint64_t waits; /* how often it has waited; UINT64_MAX: it ran, or that is unknown */
        uint32_t readings;
        bool has_moved;
    } * items;
    size_t count, room;
};

void dump_motion_deinit(struct dump_motion *motion);
/* Compares the threads of a process with its dump before.  counts_waits: reading it made no thread wait. */
MUST_CHECK enum err_code dump_motion_note(struct dump_motion *motion, const struct dump *dump,
                                          bool counts_waits, struct err *err);
/* UNKNOWN: the thread was not in as many dumps. */
enum motion dump_motion_of(const struct dump_motion *motion, int32_t pid, int32_t tid,
                           uint32_t dumps);

#endif /* SERVER_SESSIONS_DUMP_MOTION_H */
