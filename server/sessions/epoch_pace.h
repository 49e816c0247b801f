/*
 * epoch_pace - when viewers of a session learn that more is known of the packages of files.
 *
 * They begin again then, and a target decides when there is more to know, so that the pause before the next time doubles.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: one at a time.
 * Limits: EPOCH_PACE_LEAST_NS to EPOCH_PACE_MOST_NS.
 */
#ifndef SERVER_SESSIONS_EPOCH_PACE_H
#define SERVER_SESSIONS_EPOCH_PACE_H

#include <stdint.h>

#include "sampler/base/clock.h"

#define EPOCH_PACE_LEAST_NS NS_PER_S
#define EPOCH_PACE_MOST_NS  (60 * NS_PER_S)

struct epoch_pace {
    uint32_t rows; /* that viewers know of */
    uint64_t pause_ns;
    uint64_t next_ns; /* not before that they learn of more */
};

/* The rows that viewers know of, of those that there are now. */
uint32_t epoch_pace_rows(struct epoch_pace *pace, uint32_t rows, uint64_t now_ns);

#endif /* SERVER_SESSIONS_EPOCH_PACE_H */
