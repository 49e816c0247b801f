/*
 * schedule - when to sample: one instant in every period, at a random place in it.
 *
 * A fixed grid aliases with programs that have a rhythm of their own.  A random instant in each
 * period does not, and keeps the rate exact.  Deadlines are absolute.  A late tick skips the
 * periods that have passed: they are counted as missed and never made up for in a burst.  The
 * samples around them stand for their time.
 *
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_PACE_SCHEDULE_H
#define SAMPLER_SESSION_PACE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/random.h"

struct schedule {
    uint64_t start_ns;
    double period_ns;
    uint64_t next;   /* number of the next period */
    double fraction; /* of that period, at which its instant comes */
    struct random random;
};

void schedule_init(struct schedule *schedule, uint64_t now_ns, double rate_hz, uint64_t seed);

/* Continues at another rate from now_ns. */
void schedule_set_rate(struct schedule *schedule, uint64_t now_ns, double rate_hz);

/* The next instant.  *missed_out: periods that have passed without one since the last call. */
uint64_t schedule_next(struct schedule *schedule, uint64_t now_ns, uint64_t *missed_out);
/* The time that each sample of `made` ticks stands for if `owed` periods were missed: samples
 * add up to the time that passed.  Unless is_last, a few missed periods stay owed, because samples
 * of one weight take less room. */
uint64_t schedule_weight_ns(uint64_t period_ns, uint64_t made, uint64_t *owed, bool is_last);

/* The instant after the next one, if none is missed and the rate stays. */
uint64_t schedule_following(const struct schedule *schedule);

#endif /* SAMPLER_SESSION_PACE_SCHEDULE_H */
