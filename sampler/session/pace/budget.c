#include "sampler/session/pace/budget.h"

/* A rate is raised by at most these factors a measurement: by the first one, which is of looks that
 * cost more than later ones; until it is lowered; and then.  It never falls below one look a
 * second; smaller changes than NOTABLE are not worth a new schedule. */
static const double FIRST_RAISE = 10, EARLY_RAISE = 2, RAISE = 1.25, LOWEST_HZ = 1,
                    NOTABLE = 0.05;
/* More than a look costs at first: with everything to be read for the first time, and 256 threads. */
static const double MOST_S = 1e-3;

enum { FIRST_LOOKS = 2, ENOUGH_TICKS = 8 };

double budget_first_hz(double share, double wanted_hz)
{
    const double rate_hz = share / MOST_S;
    if (share <= 0 || rate_hz > wanted_hz)
        return wanted_hz;
    return rate_hz < LOWEST_HZ ? LOWEST_HZ : rate_hz;
}

void budget_init(struct budget *budget, double share, double wanted_hz, uint64_t cpu_ns)
{
    *budget = (struct budget){
        .share = share,
        .wanted_hz = wanted_hz,
        .rate_hz = budget_first_hz(share, wanted_hz),
        .cpu_ns = cpu_ns,
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
    const uint64_t enough = budget->is_measured ? ENOUGH_TICKS : FIRST_LOOKS;
    const double raise = !budget->is_measured  ? FIRST_RAISE
                         : budget->was_lowered ? RAISE
                                               : EARLY_RAISE;
    if (budget->share <= 0 || made < enough)
        return false;
    budget->is_measured = true;
    const double cost_s = (double)(cpu_ns - budget->cpu_ns) / 1e9 / (double)made;
    budget->cpu_ns = cpu_ns;
    budget->looks = looks;
    double rate_hz = cost_s > 0 ? budget->share / cost_s : budget->wanted_hz;
    if (rate_hz > budget->rate_hz * raise)
        rate_hz = budget->rate_hz * raise;
    if (rate_hz > budget->wanted_hz)
        rate_hz = budget->wanted_hz;
    if (rate_hz < LOWEST_HZ)
        rate_hz = LOWEST_HZ;
    const double change = rate_hz / budget->rate_hz - 1;
    if (change < NOTABLE && change > -NOTABLE && rate_hz < budget->wanted_hz)
        return false;
    const bool changed = rate_hz != budget->rate_hz;
    budget->was_lowered |= rate_hz < budget->rate_hz;
    budget->rate_hz = rate_hz;
    return changed;
}
