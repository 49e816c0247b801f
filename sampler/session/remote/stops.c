#include "sampler/session/remote/stops.h"

#include <math.h>

#include "sampler/base/clock.h"

static const uint64_t WINDOW_NS = 250 * NS_PER_MS;
/* Stops begin above the first share of uncertain readings, and end below the second. */
static const double BEGIN_SHARE = 0.02, END_SHARE = 0.01;
/* Fewer readings show nothing; stops are remembered until there are newer ones. */
static const double LEAST_READINGS = 8, LEAST_STOPS = 8;
/* One stop of so many is followed by a reading of moving threads, once enough of them are remembered. */
static const uint64_t PROBE_STOPS = 4;
/* The weight of a window's readings in the window after it. */
static const double AGEING = 0.8;
/* The mean time between stops where they take too long for a window of them. */
static const uint64_t TRIAL_NS = 50 * NS_PER_MS;
/* A target that could not be stopped is tried again after this time. */
static const uint64_t REFUSED_NS = NS_PER_S;
/* The time that a stop takes, before one has been seen. */
static const double FIRST_STOP_NS = 50e3;
/* A stop takes the profiler 30 to 55 us of its own, so shorter stops are no more frequent than ones of this length. */
static const double LEAST_STOP_NS = 22.4e3;
/* Gaps are longer or shorter, so that what was used too much, or not used, is balanced in this time. */
static const double BALANCE_NS = 1e9;
/* The part of the share that stops of the usual length use: in any second there is room for one that takes long. */
static const double USUAL_PART = 0.8;
/* A debt makes gaps at most so many times longer. */
static const double LONGEST_FACTOR = 2;
/* A sample must not stand for much time: where stops must be so far apart, threads are read while they move. */
static const double MAX_GAP_NS = 50e6;
/* Stops may use the share of this much time in advance, and later that of this much time in which they used none. */
static const double MAX_DEBT_NS = 1500e6, SAVED_NS = 500e6;

void stops_init(struct stops *stops, enum session_stop policy, double share)
{
    *stops = (struct stops){ .policy = policy,
                             .share = share > 0 ? share : SESSION_MAX_STOP_PERCENT / 100,
                             /* Until readings show that it is not needed. */
                             .is_uncertain = true,
                             .stops = 1,
                             .stopped_ns = FIRST_STOP_NS };
    random_init_any(&stops->random);
}

/* Stops take no more than the share in any second, but for the stop that exceeds it. */
static bool may_stop(const struct stops *stops, uint64_t now_ns)
{
    /* The time that they took in the last second, and up to a slice more. */
    const uint64_t slice = now_ns / STOPS_SLICE_NS;
    double used_ns = 0;
    for (size_t i = 0; i < STOPS_SLICES; i++)
        if (stops->slices[i].number + STOPS_SLICES > slice)
            used_ns += stops->slices[i].stopped_ns;
    return stops->credit_ns >= -stops->share * MAX_DEBT_NS &&
           used_ns < stops->share * (double)NS_PER_S;
}

static void begin_window(struct stops *stops, uint64_t now_ns)
{
    const double limit = stops->is_uncertain ? END_SHARE : BEGIN_SHARE;
    const double stop_ns = stops->stopped_ns / stops->stops, usual = USUAL_PART * stops->share;
    const double share = fmin(usual, stops->share + stops->credit_ns / BALANCE_NS);
    stops->window_ends_ns = now_ns + WINDOW_NS;
    if (stops->readings >= LEAST_READINGS)
        stops->is_uncertain = stops->uncertain > limit * stops->readings;
    stops->is_still = (stops->is_uncertain || stops->needs_stops) && may_stop(stops, now_ns) &&
                      now_ns >= stops->refused_until_ns &&
                      (stop_ns <= stops->share * MAX_GAP_NS || stops->needs_stops);
    if (stops->is_still)
        stops->gap_ns = (uint64_t)fmax(stop_ns / fmax(share, usual / LONGEST_FACTOR),
                                       LEAST_STOP_NS / usual);
    stops->readings *= AGEING;
    stops->uncertain *= AGEING;
    if (stops->stops >= LEAST_STOPS) {
        stops->stops *= AGEING;
        stops->stopped_ns *= AGEING;
    }
}

static bool is_due(struct stops *stops, uint64_t now_ns)
{
    if (now_ns < stops->due_ns)
        return false;
    /* The first one, and one after a pause, begins a gap of its own. */
    if (stops->gap_ends_ns + stops->gap_ns < now_ns)
        stops->gap_ends_ns = now_ns;
    stops->due_ns = stops->gap_ends_ns + random_below(&stops->random, stops->gap_ns);
    stops->gap_ends_ns += stops->gap_ns;
    return true;
}

static bool is_trial_due(struct stops *stops, uint64_t now_ns)
{
    if (!stops->is_uncertain || now_ns < stops->trial_ns || now_ns < stops->refused_until_ns ||
        stops->credit_ns < 0 || !may_stop(stops, now_ns))
        return false;
    stops->trial_ns = now_ns + random_below(&stops->random, 2 * TRIAL_NS);
    return true;
}

static enum stops_step choose(struct stops *stops, uint64_t now_ns)
{
    if (stops->policy != SESSION_STOP_AUTO)
        return stops->policy == SESSION_STOP_ALWAYS ? STOPS_STILL : STOPS_MOVING;
    if (now_ns >= stops->window_ends_ns)
        begin_window(stops, now_ns);
    if (stops->credited_ns && now_ns > stops->credited_ns)
        stops->credit_ns += stops->share * (double)(now_ns - stops->credited_ns);
    stops->credited_ns = now_ns;
    stops->credit_ns = fmin(stops->credit_ns, stops->share * SAVED_NS);
    /* Within a window, too, a stop may use more than all others may. */
    if (stops->is_still && may_stop(stops, now_ns))
        return is_due(stops, now_ns) ? STOPS_STILL : STOPS_SKIP;
    if (stops->needs_stops && now_ns >= stops->refused_until_ns)
        return STOPS_SKIP;
    return is_trial_due(stops, now_ns) ? STOPS_STILL : STOPS_MOVING;
}

uint64_t stops_idle_until(const struct stops *stops)
{
    if (stops->policy != SESSION_STOP_AUTO || !stops->is_still ||
        !may_stop(stops, stops->credited_ns))
        return 0;
    return stops->due_ns < stops->window_ends_ns ? stops->due_ns : stops->window_ends_ns;
}

void stops_skip(struct stops *stops, uint64_t now_ns)
{
    if (!stops->skipped.ticks++)
        stops->skipped.first_ns = now_ns;
    stops->skipped.last_ns = now_ns;
}

void stops_stood(struct stops *stops)
{
    stops->skipped.ticks = 0;
}

struct stops_turn stops_next(struct stops *stops, uint64_t now_ns)
{
    const struct stops_skipped *const skipped = &stops->skipped;
    const struct stops_turn turn = { choose(stops, now_ns), skipped->ticks + 1,
                                     skipped->ticks ? skipped->first_ns : now_ns };
    if (turn.step == STOPS_SKIP)
        stops_skip(stops, now_ns);
    return turn;
}

struct stops_turn stops_take_back(struct stops *stops, uint64_t now_ns)
{
    stops->skipped.ticks--;
    return (struct stops_turn){ STOPS_MOVING, 1, now_ns };
}

bool stops_wants_probe(struct stops *stops)
{
    return stops->is_still && !stops->needs_stops && stops->policy == SESSION_STOP_AUTO &&
           (stops->readings < LEAST_READINGS || !random_below(&stops->random, PROBE_STOPS));
}

void stops_note_reading(struct stops *stops, bool is_uncertain)
{
    stops->readings++;
    stops->uncertain += is_uncertain;
}

void stops_note_stop(struct stops *stops, uint64_t stopped_ns, uint64_t now_ns)
{
    const uint64_t number = now_ns / STOPS_SLICE_NS;
    struct stops_slice *const slice = &stops->slices[number % STOPS_SLICES];
    if (slice->number != number)
        *slice = (struct stops_slice){ .number = number };
    slice->stopped_ns += (double)stopped_ns;
    stops->credit_ns -= (double)stopped_ns;
    stops->stopped_ns += (double)stopped_ns;
    stops->stops++;
}

void stops_refuse(struct stops *stops, uint64_t now_ns)
{
    stops->refused_until_ns = now_ns + REFUSED_NS;
    stops->is_still = false;
}
