#include "sampler/session/thread_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"

/* The kernel's account goes on in steps of some milliseconds. */
static const uint64_t ACCOUNT_NS = 12 * NS_PER_MS;

void lanes_init(struct lanes *lanes, struct profile *profile)
{
    *lanes = (struct lanes){ .profile = profile };
}

static void close_lane(struct lane *lane)
{
    if (lane->has_meter)
        cpu_meter_close(&lane->meter);
    *lane = (struct lane){ 0 };
}

void lanes_deinit(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        close_lane(&lanes->items[i]);
    free(lanes->items);
    *lanes = (struct lanes){ 0 };
}

static enum err_code reserve(struct lanes *lanes, thread_id thread)
{
    if (thread < lanes->count)
        return ERR_OK;
    const size_t count = ((size_t)thread + 16) * 2;
    struct lane *const more = realloc(lanes->items, count * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    memset(more + lanes->count, 0, (count - lanes->count) * sizeof *more);
    lanes->items = more;
    lanes->count = count;
    return ERR_OK;
}

static void open_lane(struct lane *lane, const struct sighting *sighting)
{
    lane->is_open = true;
    lane->pid = sighting->pid;
    lane->tid = sighting->tid;
    lane->has_meter = cpu_meter_open(&lane->meter, sighting->pid, sighting->tid);
    lane->metered_ns = sighting->now_ns;
}

static bool keeps(enum sampler_mode mode, state_bits state)
{
    switch (mode) {
    case SAMPLER_MODE_WALL: break;
    case SAMPLER_MODE_CPU: return state & (STATE_ON_CPU | STATE_UNKNOWN_ON_CPU);
    case SAMPLER_MODE_GIL: return state & (STATE_HAS_GIL | STATE_UNKNOWN_HAS_GIL);
    case SAMPLER_MODE_EXCEPTION:
        return state & (STATE_HAS_EXCEPTION | STATE_UNKNOWN_HAS_EXCEPTION);
    }
    return true;
}

bool lanes_may_keep(const struct lanes *lanes, state_bits state)
{
    return keeps(lanes->mode, (state_bits)(state | STATE_UNKNOWN_ON_CPU));
}

/* Samples [first, first + count) of those that waited. */
struct part {
    uint32_t first, count, waited;
};

/* As if they were evenly spaced between the first sighting and the last. */
static void tell_sink(const struct lanes *lanes, thread_id thread, const struct lane *lane,
                      state_bits state, struct part part)
{
    const uint64_t span_ns = lane->used_ns - lane->since_ns;
    const uint64_t step_ns = part.waited > 1 ? span_ns / (part.waited - 1) : 0;
    const struct run run = { .thread = thread,
                             .node = lane->node,
                             .spot_node = lane->spot_node,
                             .spot = lane->spot,
                             .count = part.count,
                             .state = state,
                             .first_ns =
                                 lane->since_ns - lanes->created_ns + part.first * step_ns,
                             .step_ns = step_ns };
    lanes->sink->count(lanes->sink->context, &run);
}

static enum err_code count(struct lanes *lanes, thread_id thread, const struct lane *lane,
                           state_bits cpu, struct part part)
{
    struct quality *const quality = profile_quality(lanes->profile);
    const state_bits state = (state_bits)(lane->state | cpu);
    const uint32_t samples = part.count;
    if (!samples)
        return ERR_OK;
    if (!keeps(lanes->mode, state)) {
        quality->filtered += samples;
        return ERR_OK;
    }
    enum err_code rc = profile_add(lanes->profile, thread, state, lane->node, samples, NULL);
    if (!rc && lane->spot != PROFILE_NO_SPOT)
        rc = profile_add_spot(lanes->profile, lane->spot_node, lane->spot, samples, NULL);
    if (!rc && lanes->sink)
        tell_sink(lanes, thread, lane, state, part);
    if (!rc) {
        profile_tick(lanes->profile, lane->since_ns - lanes->created_ns,
                     lane->used_ns - lanes->created_ns, state, samples);
        quality->folded += lane->is_folded ? samples : 0;
        quality->samples += samples;
        *lane->certainty += samples;
    }
    return rc;
}

/* Reads the account; false: it cannot be read (any more). */
static bool read_share(struct lane *lane, uint64_t now_ns, double *share_out)
{
    uint64_t ran_ns;
    if (!lane->has_meter || !cpu_meter_read(&lane->meter, &ran_ns))
        return false;
    const uint64_t elapsed_ns = now_ns > lane->metered_ns ? now_ns - lane->metered_ns : 1;
    const double share = (double)ran_ns / (double)elapsed_ns;
    lane->metered_ns = now_ns;
    *share_out = share > 1 ? 1 : share;
    return true;
}

/* By the share of their time that the thread ran; what does not make a whole sample is owed to the
 * next division. */
static uint32_t running_part(struct lane *lane, double share, uint32_t waiting)
{
    const double due = share * waiting + lane->owed;
    uint32_t running = due > 0 ? (uint32_t)(due + 0.5) : 0;
    running = running > waiting ? waiting : running;
    lane->owed = due - running;
    return running;
}

/* Counts what waits. */
static enum err_code settle(struct lanes *lanes, thread_id thread, uint64_t now_ns)
{
    struct lane *const lane = &lanes->items[thread];
    const uint32_t waiting = lane->waiting;
    uint32_t running = lane->was_runnable ? waiting : 0;
    double share;
    lane->waiting = 0;
    if (!waiting)
        return ERR_OK;
    if (!lane->is_metered)
        return count(lanes, thread, lane, STATE_UNKNOWN_ON_CPU,
                     (struct part){ 0, waiting, waiting });
    if (now_ns - lane->metered_ns >= ACCOUNT_NS && read_share(lane, now_ns, &share))
        running = running_part(lane, share, waiting);
    const struct part on = { 0, running, waiting };
    const struct part off = { running, waiting - running, waiting };
    const enum err_code rc = count(lanes, thread, lane, STATE_ON_CPU, on);
    return rc ? rc : count(lanes, thread, lane, 0, off);
}

static bool is_runnable(struct lane *lane, bool *out)
{
    const bool is_known =
        lane->has_meter && cpu_meter_is_runnable(&lane->meter, lane->pid, lane->tid, out);
    lane->ran_ns = is_known && *out ? lane->used_ns : 0;
    return is_known;
}

enum fact lanes_ask(struct lanes *lanes, thread_id thread, int pid, int32_t tid)
{
    struct lane *const lane = thread < lanes->count ? &lanes->items[thread] : NULL;
    struct cpu_meter own;
    bool runs, is_known = false;
    if (lane && lane->is_open) {
        is_known = lane->has_meter && cpu_meter_is_runnable(&lane->meter, pid, tid, &runs);
    } else if (cpu_meter_open(&own, pid, tid)) {
        is_known = cpu_meter_is_runnable(&own, pid, tid, &runs);
        cpu_meter_close(&own);
    }
    return !is_known ? FACT_UNKNOWN : runs ? FACT_YES : FACT_NO;
}

/* One sample of a thread that is stopped.  The account of its time is of no use, as it does not run
 * while it is stopped. */
static enum err_code count_stopped(struct lanes *lanes, thread_id thread, enum fact runs)
{
    const state_bits cpu = runs == FACT_YES  ? STATE_ON_CPU
                           : runs == FACT_NO ? 0
                                             : STATE_UNKNOWN_ON_CPU;
    lanes->items[thread].is_metered = false;
    return count(lanes, thread, &lanes->items[thread], cpu, (struct part){ 0, 1, 1 });
}

/* One sample of a thread that moves. */
static enum err_code count_moving(struct lanes *lanes, thread_id thread)
{
    struct lane *const lane = &lanes->items[thread];
    bool runnable = true;
    state_bits cpu = STATE_UNKNOWN_ON_CPU;
    const bool is_fresh = lane->ran_ns && lane->used_ns - lane->ran_ns < LANES_FRESH_NS;
    if (is_fresh || is_runnable(lane, &runnable))
        cpu = runnable ? STATE_ON_CPU : 0;
    lane->is_metered = false;
    return count(lanes, thread, lane, cpu, (struct part){ 0, 1, 1 });
}

/* One sample of a thread that does not move: it waits. */
static void add_waiting(struct lane *lane, uint64_t now_ns)
{
    double share;
    if (!lane->waiting++) {
        const bool known = is_runnable(lane, &lane->was_runnable);
        if (!lane->is_metered)
            lane->is_metered = known && read_share(lane, now_ns, &share);
    }
}

enum err_code lanes_add(struct lanes *lanes, const struct sighting *sighting)
{
    enum err_code rc = reserve(lanes, sighting->thread);
    if (rc)
        return rc;
    struct lane *const lane = &lanes->items[sighting->thread];
    if (!lane->is_open)
        open_lane(lane, sighting);
    const bool same = sighting->is_still && lane->node == sighting->node &&
                      lane->spot == sighting->spot && lane->state == sighting->state &&
                      lane->certainty == sighting->certainty &&
                      lane->is_folded == sighting->is_folded;
    if (!same || sighting->is_stopped || lane->waiting >= LANES_MAX_WAITING)
        rc = settle(lanes, sighting->thread, sighting->now_ns);
    lane->node = sighting->node;
    lane->spot_node = sighting->spot_node;
    lane->spot = sighting->spot;
    lane->state = sighting->state;
    lane->certainty = sighting->certainty;
    lane->is_folded = sighting->is_folded;
    lane->used_ns = sighting->now_ns;
    if (!lane->waiting)
        lane->since_ns = sighting->now_ns;
    if (rc)
        return rc;
    if (sighting->is_stopped)
        return count_stopped(lanes, sighting->thread, sighting->runs);
    if (!same)
        return count_moving(lanes, sighting->thread);
    add_waiting(lane, sighting->now_ns);
    return ERR_OK;
}

enum err_code lanes_add_waiting(struct lanes *lanes, const struct sighting *sighting,
                                uint32_t samples, uint64_t since_ns)
{
    const struct lane lane = { .node = sighting->node,
                               .spot = sighting->spot,
                               .state = sighting->state,
                               .certainty = sighting->certainty,
                               .is_folded = sighting->is_folded,
                               .since_ns = since_ns,
                               .used_ns = sighting->now_ns };
    return count(lanes, sighting->thread, &lane, 0, (struct part){ 0, samples, samples });
}

enum err_code lanes_flush(struct lanes *lanes, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < lanes->count && !rc; i++) {
        struct lane *const lane = &lanes->items[i];
        if (!lane->is_open)
            continue;
        rc = settle(lanes, (thread_id)i, now_ns);
        if (now_ns - lane->used_ns > LANES_IDLE_NS)
            close_lane(lane);
    }
    return rc;
}

enum err_code lanes_drop(struct lanes *lanes, int pid, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane *const lane = &lanes->items[i];
        if (!lane->is_open || lane->pid != pid)
            continue;
        if (!rc)
            rc = settle(lanes, (thread_id)i, now_ns);
        close_lane(lane);
    }
    return rc;
}
