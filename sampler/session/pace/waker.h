/*
 * waker - sleeps until an instant, at the least cost.
 *
 * To set the clock that wakes us is what sleeping costs most (in a virtual machine 10 us and more).
 * It is not set for a timer that comes after another one: the interrupt of the first one sets
 * it for the next.  So two timers take turns, and the one after next is set while the next is
 * waited for.
 *
 * Where every processor is busy, one who sleeps much and runs little still waits for milliseconds
 * until another's slice of time is over, and those are the moments that would then never be seen.
 * The kernel lets go sooner (from Linux 6.12 on) for one who asks for short slices.
 *
 * Ownership: the caller's storage; waker_deinit accepts a zeroed one that was never init'ed.
 * Threads: none.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Depends on: base/clock.
 */
#ifndef SAMPLER_SESSION_PACE_WAKER_H
#define SAMPLER_SESSION_PACE_WAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { WAKER_TIMERS = 2 };

struct waker {
    struct waker_timer {
        int fd; /* -1: none could be had; then sleeping is plain */
        uint64_t at_ns;
    } timers[WAKER_TIMERS];
};

/* What of the calling thread keeps it from waking up at once is changed: the slack of its timers,
 * and its slice.  A scheduling policy other than the usual one is left alone. */
void waker_hasten(void);

void waker_init(struct waker *waker);
void waker_deinit(struct waker *waker);

/* It will be slept until this instant after the one that is slept until next. */
void waker_prepare(struct waker *waker, uint64_t at_ns);
/* Returns not before the instant. */
void waker_sleep(struct waker *waker, uint64_t at_ns);

#endif /* SAMPLER_SESSION_PACE_WAKER_H */
