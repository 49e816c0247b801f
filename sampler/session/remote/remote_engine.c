#include "sampler/session/remote/remote_engine.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/remote/remote_target.h"
#include "sampler/session/target.h"

struct remote_engine {
    struct engine engine;
    struct remote_tick tick;
    struct remote_target *targets[SESSION_MAX_PROCESSES];
    size_t count;
};

static struct remote_engine *remote_of(struct engine *engine)
{
    return (struct remote_engine *)(void *)engine;
}

static enum err_code init(struct engine *engine, struct err *err)
{
    struct remote_engine *const remote = remote_of(engine);
    (void)err;
    stopper_init(&remote->tick.stopper);
    random_init_any(&remote->tick.random);
    return ERR_OK;
}

static void deinit(struct engine *engine)
{
    struct remote_engine *const remote = remote_of(engine);
    for (size_t i = 0; i < remote->count; i++)
        free(remote->targets[i]);
    stopper_deinit(&remote->tick.stopper);
    native_copies_deinit(&remote->tick.stopped);
    native_copies_deinit(&remote->tick.asleep);
}

static enum err_code add(struct engine *engine, struct target *target, struct err *err)
{
    struct remote_engine *const remote = remote_of(engine);
    struct remote_target *const added = malloc(sizeof *added);
    if (!added)
        return err_nomem(err);
    remote_target_init(added, target);
    remote->targets[remote->count++] = added;
    return ERR_OK;
}

static enum err_code remove_target(struct engine *engine, struct target *target)
{
    struct remote_engine *const remote = remote_of(engine);
    enum err_code rc = ERR_OK;
    for (size_t i = remote->count; i-- > 0;)
        if (remote->targets[i]->target == target) {
            rc = remote_target_repeat(remote->targets[i], clock_now_ns());
            free(remote->targets[i]);
            remote->targets[i] = remote->targets[--remote->count];
        }
    return rc;
}

/* Ticks that are not read leave nothing to forget. */
static void forget_nothing(struct engine *engine)
{
    (void)engine;
}

static bool tick(struct engine *engine, struct engine_tick *instant, struct ending *out)
{
    struct remote_engine *const remote = remote_of(engine);
    const struct engine_session *const session = engine->session;
    struct remote_tick *const tick = &remote->tick;
    bool goes_on = true;
    size_t threads = 0;
    for (size_t i = 0; i < remote->count && remote->count > 1; i++)
        threads += python_threads_per_tick(remote->targets[i]->target->python,
                                           session->options->all_threads);
    tick->weight = threads > PYTHON_MAX_THREADS_PER_TICK
                       ? (double)threads / PYTHON_MAX_THREADS_PER_TICK
                       : 1;
    instant->has_sampled = false;
    for (size_t i = remote->count; i-- > 0 && goes_on;) {
        struct remote_target *const target = remote->targets[i];
        struct ending ending;
        if (tick->weight > 1 && random_fraction(&tick->random) * tick->weight >= 1) {
            remote_target_pass(target);
            tick->now_ns = clock_now_ns();
            instant->has_sampled = true;
            continue;
        }
        const enum err_code rc = remote_target_sample(target, tick);
        instant->has_sampled |= !rc;
        if (rc && !remote_target_survives(target, rc, clock_now_ns(), &ending))
            goes_on = session->end_target(session->context, target->target, &ending, out);
    }
    instant->now_ns = tick->now_ns;
    return goes_on;
}

static bool skip(struct engine *engine, uint64_t instant_ns)
{
    struct remote_engine *const remote = remote_of(engine);
    if (!remote->count || remote->tick.weight > 1 || remote->tick.stopper.count)
        return false;
    for (size_t i = 0; i < remote->count; i++)
        if (instant_ns >= stops_idle_until(&remote->targets[i]->stops) ||
            remote->targets[i]->target->fold.contexts)
            return false;
    for (size_t i = 0; i < remote->count; i++)
        remote_target_skip(remote->targets[i], instant_ns);
    return true;
}

static void set_rate(struct engine *engine, double rate_hz)
{
    (void)engine, (void)rate_hz;
}

static double tick_hz(struct engine *engine, double rate_hz, uint64_t now_ns)
{
    (void)engine, (void)now_ns;
    return rate_hz;
}

static enum err_code flush(struct engine *engine, uint64_t now_ns, bool is_last)
{
    struct remote_engine *const remote = remote_of(engine);
    enum err_code rc = ERR_OK;
    (void)is_last;
    for (size_t i = 0; i < remote->count && !rc; i++)
        rc = remote_target_repeat(remote->targets[i], now_ns);
    return rc;
}

/* Readings of threads that move come at most this long after each other. */
static const uint64_t MAX_AGE_NS = 200 * NS_PER_MS;

static uint64_t stands_since(struct engine *engine, const struct target *target,
                             const struct thread *thread, uint64_t now_ns)
{
    const struct thread_reading *const reading = reading_of(thread);
    (void)engine, (void)target;
    return thread->stack.is_unchanged && !reading->failure && reading->now_ns &&
                   now_ns < reading->now_ns + MAX_AGE_NS
               ? sampled_thread_of(thread)->moved_ns
               : 0;
}

static enum err_code check_stands(struct engine *engine, const struct target *target,
                                  const struct thread *thread, uint64_t now_ns,
                                  bool *stands_out)
{
    *stands_out = stands_since(engine, target, thread, now_ns) != 0;
    return ERR_OK;
}

static const char *warning(struct engine *engine, const struct target *target)
{
    (void)engine, (void)target;
    return NULL;
}

const struct engine_ops remote_engine_ops = {
    .bytes = sizeof(struct remote_engine),
    .init = init,
    .deinit = deinit,
    .add = add,
    .remove = remove_target,
    .begin = forget_nothing,
    .tick = tick,
    .skip = skip,
    .pause = forget_nothing,
    .set_rate = set_rate,
    .tick_hz = tick_hz,
    .flush = flush,
    .stands_since = stands_since,
    .check_stands = check_stands,
    .warning = warning,
};
