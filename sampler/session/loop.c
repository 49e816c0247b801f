#define _GNU_SOURCE
#include "sampler/session/loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/sink.h"
#include "sampler/session/pace/budget.h"
#include "sampler/session/pace/schedule.h"
#include "sampler/session/pace/waker.h"

/* A live page is at most this far behind. */
static const uint64_t WINDOW_NS = 250 * NS_PER_MS;
/* Sleeping and waking up takes longer than this: a nearer instant counts as now. */
static const uint64_t NEAR_NS = 8000;
/* Longer sleeps can be interrupted, so session_stop waits at most this long. */
static const uint64_t SHORT_SLEEP_NS = 20 * NS_PER_MS;

/* A session that is to make some ticks does not wait longer for them. */
static const uint64_t LEAST_TICKS_NS = 2 * NS_PER_S;

/* How often to check for new targets when there is none. */
static const uint64_t EMPTY_NS = 5 * NS_PER_MS;

/* Ticks that read nothing are counted this long before their time: the profiler sleeps through them. */
static const uint64_t MAX_AHEAD_NS = 10 * NS_PER_MS;

/* If the profiler is late for longer, no sample stands for that time. */
static const uint64_t GAP_NS = NS_PER_S;

/* Used by the thread only. */
struct loop {
    struct local_session *local;
    struct schedule schedule;
    struct waker waker;
    struct budget budget;
    double tick_hz; /* of the schedule */
    uint64_t sealed_ns;
    uint64_t period_ns; /* what a sample of the open window stands for, if none is missed */
    uint64_t owed;      /* missed ticks whose time no sample stands for yet */
    uint64_t ticks;     /* at the last seal */
    uint64_t stop_ns;   /* when the session was found to be stopped; 0: it is not */
    struct ending ending;
    bool has_no_targets; /* the session ended because no targets are left */
};

enum err_code loop_join(struct local_session *local, struct target *target, struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&local->mutex);
    if (local->is_closed)
        rc = err_set(err, ERR_GONE, "the session has ended");
    else if (local->joining_count == LOOP_MAX_JOINING)
        rc = err_set(err, ERR_LIMIT, "the attach queue is full (%d processes)",
                     LOOP_MAX_JOINING);
    else
        local->joining[local->joining_count++] = target;
    atomic_store(&local->waiting, local->joining_count);
    pthread_mutex_unlock(&local->mutex);
    return rc;
}

/* NULL: the queue is empty, at the cost of one atomic read. */
static struct target *take_joining(struct local_session *local)
{
    struct target *target = NULL;
    if (atomic_load_explicit(&local->waiting, memory_order_relaxed) == 0)
        return NULL;
    pthread_mutex_lock(&local->mutex);
    if (local->joining_count > 0)
        target = local->joining[--local->joining_count];
    atomic_store(&local->waiting, local->joining_count);
    pthread_mutex_unlock(&local->mutex);
    return target;
}

void loop_close_queue(struct local_session *local)
{
    struct target *target;
    pthread_mutex_lock(&local->mutex);
    local->is_closed = true;
    pthread_mutex_unlock(&local->mutex);
    while ((target = take_joining(local)))
        target_close(target);
}

void loop_take_new(struct local_session *local)
{
    struct target *target = NULL;
    enum err_code rc;
    while (local->tracker && (target = child_tracker_take(local->tracker)))
        if ((rc = targets_add(&local->targets, target, NULL))) {
            child_tracker_release(local->tracker, &target->process, rc);
            target_close(target);
        }
    while ((target = take_joining(local)))
        if ((rc = targets_add(&local->targets, target, NULL))) {
            const struct session_processes more = { .not_permitted = rc == ERR_PERM };
            target_table_left_out(&local->targets.target_table, &more);
            target_close(target);
        }
}

/* Returns false, so that a caller can return what this returns. */
static bool end_session(struct loop *loop, enum session_state state, const char *reason)
{
    loop->ending = (struct ending){ .state = state, .reason = reason };
    return false;
}

/* Called after the last window has been sealed: a reader that sees the end sees everything. */
static void announce_end(const struct loop *loop)
{
    struct local_session *const local = loop->local;
    const uint64_t one = 1;
    pthread_mutex_lock(&local->mutex);
    local->status.state = loop->ending.state;

    /* If several processes have ended, the reason names how many. */
    struct session_processes processes;
    target_table_counts(&local->targets.target_table, &processes);
    if (!loop->has_no_targets || processes.joined < 2)
        snprintf(local->status.reason, sizeof local->status.reason, "%s", loop->ending.reason);
    else
        snprintf(local->status.reason, sizeof local->status.reason,
                 "all %" PRIu64 " processes have ended; the last one: %s", processes.joined,
                 loop->ending.reason);

    local->ended_ns = clock_now_ns();
    /* Not the wall clock, which may have been set since. */
    local->status.ended_at_ns =
        local->status.started_at_ns + (local->ended_ns - local->created_ns);
    pthread_mutex_unlock(&local->mutex);
    (void)!write(local->base.end_fd, &one, sizeof one);
}

/* Sleeps until the deadline, or until the engine calls: then *instant_ns becomes nearer.  Returns the time.
 * Asks no clock for an instant that counts as now. */
static uint64_t sleep_until(struct loop *loop, uint64_t now_ns, uint64_t deadline_ns,
                            uint64_t *instant_ns)
{
    struct local_session *const local = loop->local;
    struct engine *const engine = local->targets.engine;
    if (*instant_ns <= now_ns + NEAR_NS)
        return now_ns;
    if (deadline_ns <= now_ns + NEAR_NS)
        return clock_now_ns();
    if (engine->ops->samples_by_itself) {
        const uint64_t sooner_ns = engine->ops->wait(engine, deadline_ns);
        *instant_ns = sooner_ns < deadline_ns ? sooner_ns : *instant_ns;
    } else if (deadline_ns > now_ns + SHORT_SLEEP_NS) {
        const struct timespec deadline = clock_timespec(deadline_ns);
        int rc = 0;
        pthread_mutex_lock(&local->mutex);
        while (!atomic_load(&local->is_ending) && rc == 0)
            rc = pthread_cond_timedwait(&local->changed, &local->mutex, &deadline);
        pthread_mutex_unlock(&local->mutex);
    } else
        waker_sleep(&loop->waker, deadline_ns);
    return clock_now_ns();
}

/* The time that a sample of the open window stands for. */
static uint64_t weigh_tick(struct loop *loop, bool is_last)
{
    const uint64_t ticks = profile_quality(loop->local->targets.profile)->ticks;
    const uint64_t made = ticks - loop->ticks;
    loop->ticks = ticks;
    return schedule_weight_ns(loop->period_ns, made, &loop->owed, is_last);
}

static enum err_code seal_window(struct loop *loop, uint64_t now_ns, bool is_last)
{
    struct local_session *const local = loop->local;
    /* Windows end at whole multiples, so that every time slot has the same number of them. */
    loop->sealed_ns = now_ns - (now_ns - local->created_ns) % WINDOW_NS;
    const struct sink *const sink = local->base.options.sink;
    const uint64_t end_ns = now_ns - local->created_ns;
    enum err_code rc = targets_flush(&local->targets, now_ns, is_last);
    const uint64_t ticks = loop->ticks;
    const uint64_t weight_ns = weigh_tick(loop, is_last);
    if (!rc && local->base.options.async != SESSION_ASYNC_OFF)
        rc = targets_show_tasks(&local->targets);
    if (!rc && !atomic_load(&local->is_paused))
        rc = targets_read_memory(&local->targets, now_ns);
    profile_set_period(local->targets.profile, weight_ns);
    const measure_set measures = local->base.options.measures;
    for (enum measure i = MEASURE_TIME + 1; i < MEASURE_COUNT && !rc; i++)
        if (measure_set_has(measures, i))
            rc = profile_seal_measured(local->targets.profile, i, end_ns, measure_period(i),
                                       NULL);
    if (!rc)
        rc = profile_seal(local->targets.profile, end_ns, NULL);
    /* Ticks took their time also where all samples failed, or were left out. */
    if (loop->ticks > ticks)
        profile_extend(local->targets.profile, end_ns);
    if (!rc && sink)
        sink->seal(sink->context, end_ns, weight_ns, profile_quality(local->targets.profile));
    loop->period_ns = (uint64_t)((double)NS_PER_S / loop->budget.rate_hz);
    profile_set_period(local->targets.profile, loop->period_ns);
    return rc;
}

static bool may_get_targets(struct local_session *local)
{
    return local->base.options.waits ||
           (local->tracker && child_tracker_may_find_more(local->tracker));
}

/* Are there targets, or may more come?  false: the session is over. */
static bool go_on(struct loop *loop, bool is_well, const struct ending *ending)
{
    const struct targets *const targets = &loop->local->targets;
    if (!is_well)
        loop->ending = *ending;
    loop->has_no_targets = is_well && targets->count == 0 && !may_get_targets(loop->local);
    return loop->has_no_targets ? end_session(loop, targets->last.state, targets->last.reason)
                                : is_well;
}

static void count_tick(struct loop *loop, uint64_t now_ns)
{
    struct quality *const quality = profile_quality(loop->local->targets.profile);
    quality->ticks++;
    quality_note_tick(quality, now_ns);
}

/* Samples all targets.  false: the session is over. */
static bool do_tick(struct loop *loop)
{
    struct engine *const engine = loop->local->targets.engine;
    struct engine_tick tick;
    struct ending ending;
    const bool is_well = engine->ops->tick(engine, &tick, &ending);
    if (tick.has_sampled)
        count_tick(loop, tick.now_ns);
    const enum err_code rc = is_well ? targets_read_locks(&loop->local->targets) : ERR_OK;
    return go_on(loop, is_well && !target_ends_session(rc, &ending), &ending);
}

static double tick_hz(const struct loop *loop, uint64_t now_ns)
{
    struct engine *const engine = loop->local->targets.engine;
    return engine->ops->tick_hz(engine, loop->budget.rate_hz, now_ns);
}

/* Begins with native stacks if that has been asked for. */
static enum err_code record_native(struct loop *loop)
{
    struct local_session *const local = loop->local;
    pthread_mutex_lock(&local->mutex);
    const bool is_wanted = local->status.records_native;
    pthread_mutex_unlock(&local->mutex);
    if (!is_wanted || local->targets.records_native)
        return ERR_OK;
    return targets_record_native(&local->targets, NULL);
}

/* Publishes the window once it is full.  false: the session is over. */
static bool publish_window(struct loop *loop, uint64_t now_ns)
{
    struct ending ending;
    if (now_ns - loop->sealed_ns < WINDOW_NS)
        return true;

    /* The rate becomes the requested one, or what the budget allows. */
    struct local_session *const local = loop->local;
    const uint64_t ticks = profile_quality(local->targets.profile)->ticks;
    const uint64_t cpu_ns =
        clock_thread_ns() + (local->tracker ? child_tracker_cpu_ns(local->tracker) : 0);

    pthread_mutex_lock(&local->mutex);
    const bool has_changed = local->has_changed;
    const double share = local->max_cpu_percent / 100, requested_hz = local->requested_hz;
    local->has_changed = false;
    pthread_mutex_unlock(&local->mutex);
    if (has_changed)
        budget_change(&loop->budget, share, requested_hz);
    if (budget_measure(&loop->budget, cpu_ns, ticks) || has_changed) {
        local->targets.engine->ops->set_rate(local->targets.engine, loop->budget.rate_hz);
        pthread_mutex_lock(&local->mutex);
        local->status.rate_hz = loop->budget.rate_hz;
        pthread_mutex_unlock(&local->mutex);
    }

    const double hz = tick_hz(loop, now_ns);
    if (hz < loop->tick_hz || hz > loop->tick_hz)
        schedule_set_rate(&loop->schedule, now_ns, hz);
    loop->tick_hz = hz;

    if (record_native(loop) || seal_window(loop, now_ns, false))
        return end_session(loop, SESSION_FAILED, "out of memory");
    const bool is_well = targets_check(&loop->local->targets, &ending);
    return go_on(loop, is_well, &ending);
}

/* The instant at which the duration is over; UINT64_MAX: never. */
static uint64_t over_ns(const struct local_session *local)
{
    const uint64_t duration_ns = local->base.options.duration_ns;
    return duration_ns && duration_ns < UINT64_MAX - local->created_ns
               ? local->created_ns + duration_ns
               : UINT64_MAX;
}

/* Was the session stopped, and has it made the ticks that it has to make before? */
static bool has_stopped(struct loop *loop, uint64_t now_ns)
{
    struct local_session *const local = loop->local;
    if (!atomic_load(&local->is_ending))
        return false;
    if (!loop->stop_ns)
        loop->stop_ns = now_ns;
    return profile_quality(local->targets.profile)->ticks >= local->base.options.least_ticks ||
           now_ns - loop->stop_ns > LEAST_TICKS_NS;
}

/* Waits until `instant_ns` and publishes full windows meanwhile.  false: the session is over. */
static bool wait_for(struct loop *loop, uint64_t now_ns, uint64_t instant_ns)
{
    const uint64_t end_ns = over_ns(loop->local);
    for (;;) {
        const uint64_t publish_ns = loop->sealed_ns + WINDOW_NS;
        uint64_t until_ns = publish_ns < instant_ns ? publish_ns : instant_ns;
        if (end_ns < until_ns)
            until_ns = end_ns;
        now_ns = sleep_until(loop, now_ns, until_ns, &instant_ns);
        if (has_stopped(loop, now_ns))
            return end_session(loop, SESSION_ENDED, SESSION_STOPPED);
        if (!publish_window(loop, now_ns))
            return false;
        if (now_ns >= end_ns)
            return end_session(loop, SESSION_ENDED, "duration reached");
        if (now_ns + NEAR_NS >= instant_ns)
            return true;
    }
}

/* Counts a tick that reads nothing, without waiting for it.  false: it has to be waited for. */
static bool skip_ticks(struct loop *loop, uint64_t now_ns, uint64_t instant_ns)
{
    struct engine *const engine = loop->local->targets.engine;
    const uint64_t publish_ns = loop->sealed_ns + WINDOW_NS;
    if (instant_ns >= publish_ns || instant_ns >= over_ns(loop->local) ||
        instant_ns >= now_ns + MAX_AHEAD_NS || !engine->ops->skip(engine, instant_ns))
        return false;
    count_tick(loop, instant_ns);
    return true;
}

static void run_loop(struct loop *loop)
{
    struct local_session *const local = loop->local;
    struct engine *const engine = local->targets.engine;
    const bool is_instant = !engine->ops->samples_by_itself; /* each tick */
    bool was_paused = false, has_skipped = false;
    for (;;) {
        uint64_t missed;
        loop_take_new(local);
        const uint64_t now_ns = clock_now_ns();
        /* Without targets nothing is sampled until the child tracker finds one. */
        const bool paused = atomic_load(&local->is_paused) || local->targets.count == 0;
        uint64_t instant_ns = schedule_next(&loop->schedule, now_ns, &missed);
        if (local->targets.count == 0 && instant_ns < now_ns + EMPTY_NS)
            instant_ns = now_ns + EMPTY_NS;
        if (!paused && !was_paused && is_instant) {
            profile_quality(loop->local->targets.profile)->missed_ticks += missed;
            if ((double)missed * loop->schedule.period_ns < (double)GAP_NS)
                loop->owed += missed;
        }
        was_paused = paused;
        if (!paused && skip_ticks(loop, now_ns, instant_ns)) {
            has_skipped = true;
            continue;
        }
        if (!paused && !has_skipped && is_instant) {
            /* If instants are close together, sets the timer for the one after next before the next one. */
            const double period_ns = loop->schedule.period_ns;
            if (period_ns > (double)(4 * NEAR_NS) && period_ns < (double)SHORT_SLEEP_NS)
                waker_prepare(&loop->waker, schedule_following(&loop->schedule));
        }
        has_skipped = false;
        if (paused)
            engine->ops->pause(engine);
        if (paused)
            quality_note_pause(profile_quality(local->targets.profile));
        if (!wait_for(loop, now_ns, instant_ns) || (!paused && !do_tick(loop)))
            return;
    }
}

void *loop_main(void *context)
{
    struct local_session *const local = context;
    const uint64_t now_ns = clock_now_ns();
    struct loop loop = { .local = local, .sealed_ns = now_ns };
    struct random random;
    waker_init(&loop.waker);
    pthread_setname_np(pthread_self(), "sampler");
    waker_hasten();
    random_init_any(&random);
    budget_init(&loop.budget, local->base.options.max_cpu_percent / 100,
                local->base.options.rate_hz, clock_thread_ns());
    loop.tick_hz = tick_hz(&loop, now_ns);
    schedule_init(&loop.schedule, now_ns, loop.tick_hz, random_u64(&random));
    loop.period_ns = (uint64_t)((double)NS_PER_S / loop.budget.rate_hz);
    run_loop(&loop);
    waker_deinit(&loop.waker);
    (void)!seal_window(&loop, clock_now_ns(), true);
    loop_close_queue(local);
    targets_dismiss(&local->targets);
    announce_end(&loop);
    return NULL;
}
