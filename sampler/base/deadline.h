/*
 * deadline - when work whose size others choose has to end: at a time, or once it is cancelled.
 *
 * Ownership: a value; the flag that cancels outlives it.
 * Threads: any.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Depends on: clock.
 */
#ifndef SAMPLER_BASE_DEADLINE_H
#define SAMPLER_BASE_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct deadline {
    uint64_t at_ns;
    const atomic_bool *is_cancelled; /* NULL: nobody cancels */
};

/* From now on. */
struct deadline deadline_after(uint64_t ns);
/* The same for a part of the work: never later than the whole. */
struct deadline deadline_within(const struct deadline *whole, uint64_t ns);
bool deadline_is_over(const struct deadline *deadline);

#endif /* SAMPLER_BASE_DEADLINE_H */
