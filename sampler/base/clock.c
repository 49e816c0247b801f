#include "sampler/base/clock.h"

#include <stddef.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t clock_boot_ns(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

uint64_t clock_thread_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
                              .tv_nsec = (long)(ns % NS_PER_S) };
}

struct deadline deadline_after(uint64_t ns)
{
    return (struct deadline){ .at_ns = clock_now_ns() + ns, .is_cancelled = NULL };
}

struct deadline deadline_within(const struct deadline *whole, uint64_t ns)
{
    struct deadline part = deadline_after(ns);
    if (part.at_ns > whole->at_ns)
        part.at_ns = whole->at_ns;
    part.is_cancelled = whole->is_cancelled;
    return part;
}

bool deadline_is_over(const struct deadline *deadline)
{
    return (deadline->is_cancelled && atomic_load(deadline->is_cancelled)) ||
           clock_now_ns() >= deadline->at_ns;
}
