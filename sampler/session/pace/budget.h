/*
 * budget - keeps the CPU time of the sampling thread within a share of one core.
 *
 * The cost of a tick is measured from time to time, and the rate is set to what the budget allows,
 * never above the requested rate.  Nothing is measured at first: the rate begins at what the budget
 * allows even if ticks are expensive.  It is lowered at once and raised in steps.
 *
 * Units: nanoseconds; shares of one core.
 */
#ifndef SAMPLER_SESSION_PACE_BUDGET_H
#define SAMPLER_SESSION_PACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    double share; /* of one core; 0: no limit */
    double requested_hz;
    double rate_hz;  /* the current rate */
    uint64_t cpu_ns; /* of the thread, at the last measurement */
    uint64_t ticks;
    bool is_measured; /* at least once */
    bool was_lowered; /* by a measurement */
};

/* The rate at the start. */
double budget_first_hz(double share, double requested_hz);

void budget_init(struct budget *budget, double share, double requested_hz, uint64_t cpu_ns);

/* Changes the share and the requested rate.  rate_hz follows at once if there is no limit, else
 * with the next measurement. */
void budget_change(struct budget *budget, double share, double requested_hz);

/* `cpu_ns` and `ticks` are totals of the thread so far.  true: rate_hz has changed. */
bool budget_measure(struct budget *budget, uint64_t cpu_ns, uint64_t ticks);

#endif /* SAMPLER_SESSION_PACE_BUDGET_H */
