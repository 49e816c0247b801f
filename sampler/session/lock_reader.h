/*
 * lock_reader - reads now and then what the threads of a session wait for and hold, without stopping any.
 *
 * A thread that waits stands still, so its stack is known, and what it waits for and holds lies still in its process.  Where a lock is
 * waited for and nobody who stands still holds it, threads that move are searched for it, too.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: the profile's writer.
 * Limits: a reading every LOCK_READER_PERIOD_NS, and fewer if they take more than one part in LOCK_READER_SHARE of the time;
 * LOCK_READER_MAX_NS of time for a reading, after which what is not known yet is left out;
 * LOCK_READER_MAX_MOVING threads that move of a process.
 */
#ifndef SAMPLER_SESSION_LOCK_READER_H
#define SAMPLER_SESSION_LOCK_READER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"

struct engine;
struct lock_board;
struct target;

enum { LOCK_READER_SHARE = 250, LOCK_READER_MAX_MOVING = 64 };
#define LOCK_READER_PERIOD_NS (50 * NS_PER_MS)
#define LOCK_READER_MAX_NS    (5 * NS_PER_MS)

struct lock_reader {
    uint64_t due_ns, read_ns;
};

/* Reads if that is due. */
MUST_CHECK enum err_code lock_reader_read(struct lock_reader *reader, struct lock_board *board,
                                          struct engine *engine, struct target *const *targets,
                                          size_t count);

#endif /* SAMPLER_SESSION_LOCK_READER_H */
