/*
 * memory_reader - reads the memory and page faults of all targets, four times a second.
 *
 * RSS is read of each target at each reading, the rest of some of them in turn: it costs more.  What belongs to a process that took the
 * pid of a target is not counted.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: the profile's writer.
 * Limits: faults and swap of MEMORY_READER_TURN targets at a reading, limits at every MEMORY_READER_LIMITS-th turn of a target.
 * Units: bytes; nanoseconds since the session began.
 */
#ifndef SAMPLER_SESSION_MEMORY_READER_H
#define SAMPLER_SESSION_MEMORY_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct profile;
struct sink;
struct target;

enum { MEMORY_READER_TURN = 32, MEMORY_READER_LIMITS = 32 };

struct memory_reader {
    uint64_t read_ns; /* the last reading; 0: none */
    size_t next;      /* the target whose turn it is */
};

/* Adds a step to the profile and the sink, which may be NULL.  Nothing is added of a time of which more than a second passed since the last
 * reading, but its end. */
MUST_CHECK enum err_code memory_reader_read(struct memory_reader *reader,
                                            struct target *const *targets, size_t count,
                                            struct profile *profile, const struct sink *sink,
                                            uint64_t now_ns, struct err *err);

#endif /* SAMPLER_SESSION_MEMORY_READER_H */
