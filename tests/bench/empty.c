/*
 * empty - perf events of a rate on every processor, at which nothing is done: what the interrupts alone cost.
 *
 *     empty RATE SECONDS
 *
 * Exit code: 0; 1 if the kernel refuses the events; 2 for wrong words.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/clock.h"

int main(int argc, char **argv)
{
    const double rate = argc == 3 ? atof(argv[1]) : 0, seconds = argc == 3 ? atof(argv[2]) : 0;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    if (rate <= 0 || seconds <= 0) {
        fputs("usage: empty RATE SECONDS\n", stderr);
        return 2;
    }
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof attr,
                                    .config = PERF_COUNT_SW_CPU_CLOCK,
                                    .sample_period = (uint64_t)((double)NS_PER_S / rate),
                                    .exclude_idle = 1 };
    for (int cpu = 0; cpu < processors; cpu++)
        if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0 &&
            errno != ENODEV) {
            fprintf(stderr, "empty: perf_event_open: %s\n", strerror(errno));
            return 1;
        }
    const struct timespec length = clock_timespec((uint64_t)(seconds * (double)NS_PER_S));
    nanosleep(&length, NULL);
    return 0;
}
