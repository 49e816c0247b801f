/*
 * clocks - the clocks of all processors, whose events run the BPF program: several for each, see periods.h.
 *
 * They are of the processor's time, not of its cycles: cycles are counted by an interrupt that cannot be masked, which
 * may interrupt the program in the middle of a switch, and stand for more time where the processor is slow.
 *
 * Ownership: clocks_init needs no memory; clocks_close closes what clocks_open has opened.
 * Threads: none.
 * Limits: KERNEL_MAX_CPUS processors.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_KERNEL_CLOCKS_H
#define SAMPLER_KERNEL_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/kernel/periods.h"
#include "sampler/kernel/record.h"

struct clocks {
    struct periods periods;
    size_t processors;
    uint64_t
        interrupt_ns; /* what the interrupt of a clock takes, without a program; 0: unknown */
    int events[KERNEL_MAX_CPUS][PERIODS]; /* -1: none */
};

void clocks_init(struct clocks *clocks, size_t processors);
/* They stand still at first.  NULL, or what the kernel refuses: errno says why.  A processor that is offline has no
 * clocks; if all are, errno is ENODEV. */
const char *clocks_open(struct clocks *clocks, int program);
void clocks_close(struct clocks *clocks);

/* The mean time between two instants. */
void clocks_set(struct clocks *clocks, uint64_t period_ns);
bool clocks_run(const struct clocks *clocks);
void clocks_halt(const struct clocks *clocks);
/* Changes periods, if that is due. */
void clocks_vary(struct clocks *clocks, uint64_t now_ns);

#endif /* SAMPLER_KERNEL_CLOCKS_H */
