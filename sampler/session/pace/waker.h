/*
 * waker - sleeps until an instant, at the least cost.
 *
 * Sleeping costs most when the hardware clock is set for the wakeup (10 us and more in a virtual
 * machine).  The clock is not set for a timer that expires after another one: the interrupt of the
 * first sets it for the second.  So two timers take turns, and the one after next is set while the
 * next one is waited for.
 *
 * If every processor is busy, a thread that sleeps much and runs little still waits for
 * milliseconds until the slice of another thread ends, and those instants would never be sampled.
 * From Linux 6.12 on a thread that asks for short slices runs sooner.
 *
 * Ownership: the caller's storage; waker_deinit accepts a zeroed one.
 * Threads: one at a time.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_PACE_WAKER_H
#define SAMPLER_SESSION_PACE_WAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { WAKER_TIMERS = 2 };

struct waker {
    struct waker_timer {
        int fd; /* -1: unavailable, use clock_nanosleep */
        uint64_t at_ns;
    } timers[WAKER_TIMERS];
};

/* Lets the calling thread wake up sooner: reduces its timer slack and its slice.  A scheduling
 * policy other than the default one is left alone. */
void waker_hasten(void);

void waker_init(struct waker *waker);
void waker_deinit(struct waker *waker);

/* Announces the instant after the next one. */
void waker_prepare(struct waker *waker, uint64_t at_ns);
/* Never returns before the instant. */
void waker_sleep(struct waker *waker, uint64_t at_ns);

#endif /* SAMPLER_SESSION_PACE_WAKER_H */
