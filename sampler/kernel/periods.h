/*
 * periods - the periods of the clocks of a processor, so that a program with a rhythm is not sampled in its rhythm.
 *
 * Only a system call changes the period of a clock, and it interrupts the processor: too much for every instant.  So
 * each processor has several clocks, whose rates add up to the one that was asked for.  Their periods have nothing in
 * common and are several times as long as the mean time between two instants.  So even one clock alone soon meets all
 * parts of a loop that is as long as that time.  Now and then two of them share their rate in another way, so that none
 * stays in step with a program for long.
 *
 * Limits: PERIODS clocks.
 * Units: nanoseconds.
 */
#ifndef SAMPLER_KERNEL_PERIODS_H
#define SAMPLER_KERNEL_PERIODS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/random.h"

enum { PERIODS = 4 };

struct periods {
    double shares[PERIODS]; /* of the rate; their sum is 1 */
    uint64_t period_ns;     /* the mean time between two instants */
    uint64_t between_ns;    /* changes, on average */
    uint64_t change_ns;     /* when the next one is due */
    struct random random;
};

void periods_init(struct periods *periods, uint64_t seed);
/* The more processors there are, the less often periods change. */
void periods_set(struct periods *periods, uint64_t period_ns, size_t processors);
/* The period of clock `i`. */
uint64_t periods_of(const struct periods *periods, size_t i);
/* true: the periods of these two clocks have changed, and each of the two starts again. */
bool periods_vary(struct periods *periods, uint64_t now_ns, size_t changed_out[2]);

#endif /* SAMPLER_KERNEL_PERIODS_H */
