#include "sampler/session/pace/stops.h"

#include "sampler/base/clock.h"

static const uint64_t WINDOW_NS = 250 * NS_PER_MS;
/* Stops begin above the first share of uncertain readings, and end below the second. */
static const double BEGIN_SHARE = 0.02, END_SHARE = 0.01;
/* Fewer readings show nothing. */
static const double LEAST_READINGS = 8;
/* What a window's readings count for in the window after it. */
static const double AGEING = 0.8;
/* The mean time between probes, or readings of the control. */
static const uint64_t EXTRA_NS = 50 * NS_PER_MS;
/* If stops took so much that threads would have to wait longer than this, they are read while they
 * move: a sample must not stand for much time. */
static const double MAX_WAIT_NS = 50e6;
/* What was not used is kept for so long. */
static const double SAVED_NS = 100e6;

void stops_init(struct stops *stops, enum sampler_stop policy, double share)
{
    *stops = (struct stops){ .policy = policy,
                             .share = share > 0 ? share : SAMPLER_MAX_STOP_PERCENT / 100,
                             /* Until readings show that it is not needed. */
                             .is_still = policy == SAMPLER_STOP_AUTO };
    random_init_any(&stops->random);
}

static void begin_window(struct stops *stops, uint64_t now_ns)
{
    const double limit = stops->is_still ? END_SHARE : BEGIN_SHARE;
    stops->window_ends_ns = now_ns + WINDOW_NS;
    if (stops->readings >= LEAST_READINGS)
        stops->is_still = stops->uncertain > limit * stops->readings;
    stops->readings *= AGEING;
    stops->uncertain *= AGEING;
}

static bool is_extra(struct stops *stops, uint64_t now_ns)
{
    if (now_ns < stops->extra_ns)
        return false;
    stops->extra_ns = now_ns + random_below(&stops->random, 2 * EXTRA_NS);
    return true;
}

static bool may_stop(struct stops *stops, uint64_t now_ns)
{
    const double most_ns = stops->share * SAVED_NS;
    if (stops->credited_ns)
        stops->credit_ns += stops->share * (double)(now_ns - stops->credited_ns);
    stops->credited_ns = now_ns;
    if (stops->credit_ns > most_ns)
        stops->credit_ns = most_ns;
    return stops->credit_ns >= 0;
}

static bool must_not_wait(const struct stops *stops)
{
    return stops->credit_ns < -stops->share * MAX_WAIT_NS;
}

static enum stops_step choose(struct stops *stops, uint64_t now_ns)
{
    const bool may = may_stop(stops, now_ns), is_chosen = is_extra(stops, now_ns);
    if (must_not_wait(stops))
        return STOPS_MOVING;
    if (stops->is_still && !may)
        return is_chosen ? STOPS_PROBE : STOPS_SKIP;
    return stops->is_still || (may && is_chosen) ? STOPS_STILL : STOPS_MOVING;
}

uint64_t stops_idle_until(const struct stops *stops)
{
    if (stops->policy != SAMPLER_STOP_AUTO || !stops->is_still || stops->credit_ns >= 0 ||
        must_not_wait(stops))
        return 0;
    const uint64_t paid_ns = stops->credited_ns + (uint64_t)(-stops->credit_ns / stops->share);
    const uint64_t due_ns = paid_ns < stops->extra_ns ? paid_ns : stops->extra_ns;
    return due_ns < stops->window_ends_ns ? due_ns : stops->window_ends_ns;
}

void stops_skip(struct stops *stops, uint64_t now_ns)
{
    if (!stops->pending++)
        stops->pending_since_ns = now_ns;
}

struct stops_turn stops_next(struct stops *stops, uint64_t now_ns)
{
    if (stops->policy != SAMPLER_STOP_AUTO)
        return (struct stops_turn){ stops->policy == SAMPLER_STOP_ALWAYS ? STOPS_STILL
                                                                         : STOPS_MOVING,
                                    1, now_ns };
    if (now_ns >= stops->window_ends_ns)
        begin_window(stops, now_ns);
    stops_skip(stops, now_ns);
    const struct stops_turn turn = { choose(stops, now_ns), stops->pending,
                                     stops->pending_since_ns };
    if (turn.step == STOPS_MOVING || turn.step == STOPS_STILL)
        stops->pending = 0;
    return turn;
}

void stops_note_reading(struct stops *stops, bool is_uncertain)
{
    stops->readings++;
    stops->uncertain += is_uncertain;
}

void stops_note_stop(struct stops *stops, uint64_t stopped_ns)
{
    stops->credit_ns -= (double)stopped_ns;
}

void stops_refuse(struct stops *stops)
{
    stops->policy = SAMPLER_STOP_NEVER;
    stops->is_still = false;
}
