#include "sampler/session/pace/budget.h"

/* The largest factors by which a measurement raises the rate: the first one, as the first ticks
 * cost more than later ones; until the rate has been lowered; and after that.  The rate never
 * falls below one tick a second. A change smaller than NOTABLE is not worth a new schedule. */
static const double FIRST_RAISE = 10, EARLY_RAISE = 2, RAISE = 1.25, LOWEST_HZ = 1,
                    NOTABLE = 0.05;
/* An upper bound for the first tick, which reads everything for the first time, with 256
 * threads. */
static const double MOST_S = 1e-3;

enum { FIRST_TICKS = 2, ENOUGH_TICKS = 8 };

double budget_first_hz(double share, double requested_hz)
{
    const double rate_hz = share / MOST_S;
    if (share <= 0 || rate_hz > requested_hz)
        return requested_hz;
    return rate_hz < LOWEST_HZ ? LOWEST_HZ : rate_hz;
}

void budget_init(struct budget *budget, double share, double requested_hz, uint64_t cpu_ns)
{
    *budget = (struct budget){
        .share = share,
        .requested_hz = requested_hz,
        .rate_hz = budget_first_hz(share, requested_hz),
        .cpu_ns = cpu_ns,
    };
}

void budget_change(struct budget *budget, double share, double requested_hz)
{
    budget->share = share;
    budget->requested_hz = requested_hz;
    if (share <= 0 || budget->rate_hz > requested_hz)
        budget->rate_hz = requested_hz;
}

bool budget_measure(struct budget *budget, uint64_t cpu_ns, uint64_t ticks)
{
    const uint64_t made = ticks - budget->ticks;
    const uint64_t enough = budget->is_measured ? ENOUGH_TICKS : FIRST_TICKS;
    const double raise = !budget->is_measured  ? FIRST_RAISE
                         : budget->was_lowered ? RAISE
                                               : EARLY_RAISE;
    if (budget->share <= 0 || made < enough)
        return false;
    budget->is_measured = true;
    const double cost_s = (double)(cpu_ns - budget->cpu_ns) / 1e9 / (double)made;
    budget->cpu_ns = cpu_ns;
    budget->ticks = ticks;
    double rate_hz = cost_s > 0 ? budget->share / cost_s : budget->requested_hz;
    if (rate_hz > budget->rate_hz * raise)
        rate_hz = budget->rate_hz * raise;
    if (rate_hz > budget->requested_hz)
        rate_hz = budget->requested_hz;
    if (rate_hz < LOWEST_HZ)
        rate_hz = LOWEST_HZ;
    const double change = rate_hz / budget->rate_hz - 1;
    if (change < NOTABLE && change > -NOTABLE && rate_hz < budget->requested_hz)
        return false;
    const bool changed = rate_hz != budget->rate_hz;
    budget->was_lowered |= rate_hz < budget->rate_hz;
    budget->rate_hz = rate_hz;
    return changed;
}
