#include "sampler/kernel/periods.h"

#include "sampler/base/clock.h"

/* Changes come not more often than this, nor than after so many instants.  One takes 12 us of a processor for each
 * clock and processor. */
static const uint64_t MIN_BETWEEN_NS = 200 * NS_PER_MS;
enum { INSTANTS_BETWEEN = 16, FEW_PROCESSORS = 8 };

/* The part of two clocks' rate that the faster one may have: so its period is shorter by a
 * half. */
static const double LEAST_PART = 0.35, PARTS = 0.3;
/* The rates at the start, before the first change: from 0.7 to 1.3 of the mean. */
static const double LEAST_RATE = 0.7, RATES = 0.6;

void periods_init(struct periods *periods, uint64_t seed)
{
    double sum = 0;
    *periods = (struct periods){ 0 };
    random_init(&periods->random, seed);
    for (size_t i = 0; i < PERIODS; i++) {
        const double at = ((double)i + random_fraction(&periods->random)) / PERIODS;
        periods->shares[i] = LEAST_RATE + RATES * at;
        sum += periods->shares[i];
    }
    for (size_t i = 0; i < PERIODS; i++)
        periods->shares[i] /= sum;
}

void periods_set(struct periods *periods, uint64_t period_ns, size_t processors)
{
    const uint64_t least_ns = MIN_BETWEEN_NS * (1 + processors / FEW_PROCESSORS);
    const uint64_t few_ns = INSTANTS_BETWEEN * period_ns;
    periods->period_ns = period_ns;
    periods->between_ns = few_ns > least_ns ? few_ns : least_ns;
    periods->change_ns = 0;
}

/* A change costs a clock half an instant, because it starts again. */
uint64_t periods_of(const struct periods *periods, size_t i)
{
    const double stay_ns = (double)periods->between_ns * PERIODS / 2;
    const double period_ns = (double)periods->period_ns;
    return (uint64_t)(period_ns / (periods->shares[i] + period_ns / stay_ns / 2));
}

bool periods_vary(struct periods *periods, uint64_t now_ns, size_t changed_out[2])
{
    struct random *const random = &periods->random;
    if (now_ns < periods->change_ns)
        return false;
    const bool is_first = periods->change_ns == 0;
    periods->change_ns =
        now_ns + periods->between_ns / 2 + random_below(random, periods->between_ns);
    if (is_first)
        return false;
    const size_t one = random_below(random, PERIODS);
    const size_t other = (one + 1 + random_below(random, PERIODS - 1)) % PERIODS;
    const double sum = periods->shares[one] + periods->shares[other];
    periods->shares[one] = sum * (LEAST_PART + PARTS * random_fraction(random));
    periods->shares[other] = sum - periods->shares[one];
    changed_out[0] = one;
    changed_out[1] = other;
    return true;
}
