/*
 * sleeper - the floor: what waking up costs.
 *
 *     sleeper RATE SECONDS
 *
 * Sleeps until the next of RATE instants a second, for SECONDS, and does nothing at any of them.  On a
 * virtual machine most of what a profiler takes at 1 kHz can be this.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "sampler/base/clock.h"

int main(int argc, char **argv)
{
    const double rate = argc == 3 ? strtod(argv[1], NULL) : 0;
    const double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;
    if (!(rate >= 1 && rate <= 1e6 && seconds > 0 && seconds < 1e6)) {
        fprintf(stderr, "usage: sleeper RATE SECONDS\n");
        return 2;
    }
    /* As the profiler does, which wakes up on time. */
    prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
    const uint64_t start_ns = clock_now_ns();
    const uint64_t count = (uint64_t)(rate * seconds);
    for (uint64_t i = 1; i <= count; i++) {
        const struct timespec at =
            clock_timespec(start_ns + (uint64_t)((double)i * 1e9 / rate));
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        }
    }
    return 0;
}
