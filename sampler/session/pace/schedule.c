#include "sampler/session/pace/schedule.h"

/* If fewer than one in NOTABLE_ONE_IN instants of a window are missed, its samples keep their
 * weight. */
enum { NOTABLE_ONE_IN = 50 };

uint64_t schedule_weight_ns(uint64_t period_ns, uint64_t made, uint64_t *owed, bool is_last)
{
    const uint64_t missed = *owed;
    if (!made || !missed || (missed < made / NOTABLE_ONE_IN && !is_last))
        return period_ns;
    *owed = 0;
    return (uint64_t)((double)period_ns * (double)(made + missed) / (double)made);
}

void schedule_init(struct schedule *schedule, uint64_t now_ns, double rate_hz, uint64_t seed)
{
    *schedule = (struct schedule){ .start_ns = now_ns, .period_ns = 1e9 / rate_hz };
    random_init(&schedule->random, seed);
    schedule->fraction = random_fraction(&schedule->random);
}

void schedule_set_rate(struct schedule *schedule, uint64_t now_ns, double rate_hz)
{
    schedule->start_ns = now_ns;
    schedule->period_ns = 1e9 / rate_hz;
    schedule->next = 0;
}

uint64_t schedule_following(const struct schedule *schedule)
{
    const double periods = (double)schedule->next + schedule->fraction;
    return schedule->start_ns + (uint64_t)(periods * schedule->period_ns);
}

uint64_t schedule_next(struct schedule *schedule, uint64_t now_ns, uint64_t *missed_out)
{
    const double elapsed =
        now_ns > schedule->start_ns ? (double)(now_ns - schedule->start_ns) : 0;
    const uint64_t current = (uint64_t)(elapsed / schedule->period_ns);
    *missed_out = 0;
    if (current > schedule->next) {
        *missed_out = current - schedule->next;
        schedule->next = current;
    }
    const uint64_t at_ns = schedule_following(schedule);
    schedule->next++;
    schedule->fraction = random_fraction(&schedule->random);
    return at_ns;
}
