/*
 * budget - keeps the sampling thread's own CPU time within a share of one core.
 *
 * From time to time the cost of a look is measured, and the rate is set to what the budget pays
 * for, never above what was wanted.  It starts at what the budget pays for whatever a look costs, as
 * nothing has been measured yet; it is lowered at once, and raised step by step.
 *
 * Units: nanoseconds; shares of one core.
 * Depends on: libc.
 */
#ifndef SAMPLER_SESSION_PACE_BUDGET_H
#define SAMPLER_SESSION_PACE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    double share; /* of one core; 0: no limit */
    double wanted_hz;
    double rate_hz;  /* what may be looked at now */
    uint64_t cpu_ns; /* of the thread, at the last measurement */
    uint64_t looks;
    bool is_measured; /* once at least */
    bool was_lowered; /* by a measurement */
};

/* The rate to begin with. */
double budget_first_hz(double share, double wanted_hz);

void budget_init(struct budget *budget, double share, double wanted_hz, uint64_t cpu_ns);

/* Another share, another rate wanted; rate_hz follows at once where there is no limit, else with
 * the next measurement. */
void budget_change(struct budget *budget, double share, double wanted_hz);

/* Tells the CPU time of the thread and the looks made so far.  true: rate_hz has changed. */
bool budget_measure(struct budget *budget, uint64_t cpu_ns, uint64_t looks);

#endif /* SAMPLER_SESSION_PACE_BUDGET_H */
