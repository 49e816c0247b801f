#include "sampler/schedule.h"

void schedule_init(struct schedule *schedule, uint64_t now_ns, double rate_hz, uint64_t seed)
{
    *schedule = (struct schedule){ .start_ns = now_ns,
                                   .period_ns = 1e9 / rate_hz,
                                   .random = seed ? seed : 1 };
}

void schedule_set_rate(struct schedule *schedule, uint64_t now_ns, double rate_hz)
{
    schedule->start_ns = now_ns;
    schedule->period_ns = 1e9 / rate_hz;
    schedule->next = 0;
}

/* xorshift64*: enough to be unrelated to any program's rhythm. */
static double random_fraction(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 0x2545f4914f6cdd1du >> 11) / 9007199254740992.0;
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
    const double at =
        ((double)schedule->next + random_fraction(&schedule->random)) * schedule->period_ns;
    schedule->next++;
    return schedule->start_ns + (uint64_t)at;
}
