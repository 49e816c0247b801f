/*
 * clock - time in nanoseconds.  The wall clock jumps when somebody sets it; the others do not.
 *
 * Threads: any.
 */
#ifndef SAMPLER_BASE_CLOCK_H
#define SAMPLER_BASE_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

/* CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);
/* CLOCK_REALTIME, since 1970. */
uint64_t clock_wall_ns(void);
/* CLOCK_BOOTTIME: as clock_now_ns, and it goes on while the machine sleeps. */
uint64_t clock_boot_ns(void);
/* CPU time of the calling thread. */
uint64_t clock_thread_ns(void);
struct timespec clock_timespec(uint64_t ns);

/* When work whose size others choose has to end: at a time, or once it is cancelled. */
struct deadline {
    uint64_t at_ns;                  /* of clock_now_ns */
    const atomic_bool *is_cancelled; /* NULL: never; must outlive the deadline */
};

/* From now on. */
struct deadline deadline_after(uint64_t ns);
/* The deadline of a part of the work: never later than the whole. */
struct deadline deadline_within(const struct deadline *whole, uint64_t ns);
bool deadline_is_over(const struct deadline *deadline);

#endif /* SAMPLER_BASE_CLOCK_H */
