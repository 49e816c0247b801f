#include "sampler/budget.h"

/* A rate is raised by at most this factor a measurement, and never falls below one look a
 * second; smaller changes than this are not worth a new schedule. */
static const double RAISE = 1.25, LOWEST_HZ = 1, NOTABLE = 0.05;

enum { ENOUGH_LOOKS = 8 };

void budget_init(struct budget *budget, double share, double wanted_hz, uint64_t cpu_ns)
{
    *budget = (struct budget){
        .share = share, .wanted_hz = wanted_hz, .rate_hz = wanted_hz, .cpu_ns = cpu_ns
    };
}

void budget_change(struct budget *budget, double share, double wanted_hz)
{
    budget->share = share;
    budget->wanted_hz = wanted_hz;
    if (share <= 0 || budget->rate_hz > wanted_hz)
        budget->rate_hz = wanted_hz;
}

bool budget_measure(struct budget *budget, uint64_t cpu_ns, uint64_t looks)
{
    const uint64_t made = looks - budget->looks;
    if (budget->share <= 0 || made < ENOUGH_LOOKS)
        return false;
    const double cost_s = (double)(cpu_ns - budget->cpu_ns) / 1e9 / (double)made;
    budget->cpu_ns = cpu_ns;
    budget->looks = looks;
    double rate_hz = cost_s > 0 ? budget->share / cost_s : budget->wanted_hz;
    if (rate_hz > budget->rate_hz * RAISE)
        rate_hz = budget->rate_hz * RAISE;
    if (rate_hz > budget->wanted_hz)
        rate_hz = budget->wanted_hz;
    if (rate_hz < LOWEST_HZ)
        rate_hz = LOWEST_HZ;
    const double change = rate_hz / budget->rate_hz - 1;
    if (change < NOTABLE && change > -NOTABLE && rate_hz < budget->wanted_hz)
        return false;
    const bool changed = rate_hz != budget->rate_hz;
    budget->rate_hz = rate_hz;
    return changed;
}
