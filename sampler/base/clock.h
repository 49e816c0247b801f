/*
 * clock - time in nanoseconds.  The wall clock may jump, whoever sets it; the others do not.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_BASE_CLOCK_H
#define SAMPLER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull

/* CLOCK_MONOTONIC. */
uint64_t clock_now_ns(void);
/* CLOCK_REALTIME, since 1970. */
uint64_t clock_wall_ns(void);
/* CLOCK_BOOTTIME: as clock_now_ns, and it goes on while the machine sleeps. */
uint64_t clock_boot_ns(void);
/* CPU time of the calling thread. */
uint64_t clock_thread_ns(void);
struct timespec clock_timespec(uint64_t ns);

#endif /* SAMPLER_BASE_CLOCK_H */
