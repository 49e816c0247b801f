/*
 * schedule - when to look: one instant in every period, at a random place in it.
 *
 * A fixed grid aliases with programs that have a rhythm of their own; a random instant in each
 * period does not, and keeps the rate exact.  Deadlines are absolute.  Whoever is late skips the
 * periods that have passed: they are counted, never made up for in a burst.  Their time is that of the
 * samples around them, which stand for more of it each.
 *
 * Units: nanoseconds of CLOCK_MONOTONIC.
 * Depends on: base/random.
 */
#ifndef SAMPLER_SESSION_PACE_SCHEDULE_H
#define SAMPLER_SESSION_PACE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/random.h"

struct schedule {
    uint64_t start_ns;
    double period_ns;
    uint64_t next;   /* number of the period to come */
    double fraction; /* of that period, after which its instant comes */
    struct random random;
};

void schedule_init(struct schedule *schedule, uint64_t now_ns, double rate_hz, uint64_t seed);

/* Goes on at another rate from now_ns. */
void schedule_set_rate(struct schedule *schedule, uint64_t now_ns, double rate_hz);

/* The next instant to look at.  *missed_out: periods that passed without one since the last. */
uint64_t schedule_next(struct schedule *schedule, uint64_t now_ns, uint64_t *missed_out);
/* What each sample of `made` instants stands for, where `owed` periods have been missed: their time
 * too, so that samples add up to the time that went by.  A few are left for later, as one period for
 * all is less to keep, unless this is_last. */
uint64_t schedule_weight_ns(uint64_t period_ns, uint64_t made, uint64_t *owed, bool is_last);

/* The one after it, if nothing is missed and the rate stays. */
uint64_t schedule_following(const struct schedule *schedule);

#endif /* SAMPLER_SESSION_PACE_SCHEDULE_H */
