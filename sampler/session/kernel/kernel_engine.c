#include "sampler/session/kernel/kernel_engine.h"

#include "sampler/base/clock.h"
#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/engine.h"
#include "sampler/kernel/kernel_engine_pool.h"
#include "sampler/kernel/record.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "sampler/session/kernel/kernel_feed.h"
#include "sampler/session/kernel/kernel_paths.h"
#include "sampler/session/target.h"

/* How often records are taken if other work comes at the same time: new children, and tasks. */
static const double BUSY_DRAIN_HZ = 100;

/* How many targets a tick asks whether they still run. */
enum { CHECKS_PER_TICK = 16 };

struct kernel_engine {
    struct engine engine;
    struct kernel *kernel; /* of the options' engines */
    struct kernel_feed *feed;
    struct target *targets[SESSION_MAX_PROCESSES];
    size_t count;
    size_t next_check; /* of the targets: asked next whether it still runs */
};

static struct kernel_engine *kernel_of(struct engine *engine)
{
    return (struct kernel_engine *)(void *)engine;
}

static void deinit(struct engine *engine)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    kernel_feed_destroy(kernel->feed);
    kernel_engine_pool_give_back(engine->session->options->engines, kernel->kernel);
}

void kernel_engine_give_up(struct engine *engine, const char *why)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    kernel_feed_destroy(kernel->feed);
    kernel_engine_pool_give_up(engine->session->options->engines, kernel->kernel, why);
    kernel->feed = NULL;
    kernel->kernel = NULL;
    engine_destroy(engine);
}

static enum err_code init(struct engine *engine, struct err *err)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    const struct session_options *const options = engine->session->options;
    const measure_set measures = options->measures;
    const unsigned events =
        (measure_set_has(measures, MEASURE_TIME) ? KERNEL_EVENT_TIME : 0u) |
        (measure_set_has(measures, MEASURE_PAGE_FAULTS) ? KERNEL_EVENT_FAULTS : 0u) |
        (measure_set_has(measures, MEASURE_CONTEXT_SWITCHES) ? KERNEL_EVENT_SWITCHES : 0u) |
        (measure_set_has(measures, MEASURE_COPY_ON_WRITE) ? KERNEL_EVENT_COPIES : 0u) |
        (measure_set_has(measures, MEASURE_RETURNED) ? KERNEL_EVENT_RETURNED : 0u);
    enum err_code rc = kernel_engine_pool_take(options->engines, options->rate_hz, events,
                                               &kernel->kernel, err);
    struct kernel_paths *paths = NULL;
    if (!rc && options->kernel_frames)
        rc = kernel_paths_create(engine->session->profile,
                                 kernel_engine_pool_kallsyms(options->engines), &paths, err);
    if (!rc)
        rc = kernel_feed_create(kernel->kernel, measures, paths, &kernel->feed, err);
    return rc;
}

static enum err_code add(struct engine *engine, struct target *target, struct err *err)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    const enum err_code rc = kernel_feed_add(kernel->feed, target, err);
    if (!rc)
        kernel->targets[kernel->count++] = target;
    return rc;
}

static enum err_code remove_target(struct engine *engine, struct target *target)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    for (size_t i = kernel->count; i-- > 0;)
        if (kernel->targets[i] == target)
            kernel->targets[i] = kernel->targets[--kernel->count];
    return kernel_feed_remove(kernel->feed, target);
}

static void begin(struct engine *engine)
{
    kernel_feed_begin(kernel_of(engine)->feed);
}

/* The instants since the last call.  Tasks are read first, so that the stacks of running tasks find them. */
static enum err_code pass_instants(struct kernel_engine *kernel)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t instants = kernel_feed_ticks(kernel->feed, now_ns);
    enum err_code rc = ERR_OK;
    profile_quality(kernel->engine.session->profile)->ticks += instants;
    for (size_t i = 0; i < kernel->count && !rc && instants; i++)
        rc = target_read_tasks(kernel->targets[i], (uint32_t)instants, now_ns);
    return rc;
}

/* No reading fails once a target has ended.  Of many, some are asked each time. */
static bool check_some(struct kernel_engine *kernel, struct ending *out)
{
    const struct engine_session *const session = kernel->engine.session;
    const size_t most = kernel->count < CHECKS_PER_TICK ? kernel->count : CHECKS_PER_TICK;
    for (size_t i = 0; i < most; i++) {
        struct ending ending;
        if (kernel->next_check >= kernel->count)
            kernel->next_check = 0;
        struct target *const target = kernel->targets[kernel->next_check];
        if (target_runs(target, &ending)) {
            kernel->next_check++;
            continue;
        }
        /* The engine still holds what the target did since the last time. */
        const enum err_code rc = kernel_feed_drain(kernel->feed);
        if (rc)
            return !target_ends_session(rc, out);
        if (!session->end_target(session->context, target, &ending, out))
            return false;
    }
    return true;
}

static bool tick(struct engine *engine, struct engine_tick *tick, struct ending *out)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    enum err_code rc = pass_instants(kernel);
    if (!rc)
        rc = kernel_feed_drain(kernel->feed);
    tick->has_sampled = false;
    return rc ? !target_ends_session(rc, out) : check_some(kernel, out);
}

static bool skip(struct engine *engine, uint64_t instant_ns)
{
    (void)engine, (void)instant_ns;
    return false;
}

static void pause_feed(struct engine *engine)
{
    kernel_feed_skip(kernel_of(engine)->feed);
}

static uint64_t wait_for_records(struct engine *engine, uint64_t until_ns)
{
    return kernel_feed_wait(kernel_of(engine)->feed, until_ns);
}

static void set_rate(struct engine *engine, double rate_hz)
{
    kernel_feed_set_rate(kernel_of(engine)->feed, rate_hz);
}

static double tick_hz(struct engine *engine, double rate_hz, uint64_t now_ns)
{
    const struct session_options *const options = engine->session->options;
    (void)rate_hz;
    return options->subprocesses || options->async != SESSION_ASYNC_OFF
               ? BUSY_DRAIN_HZ
               : kernel_feed_drain_hz(kernel_of(engine)->feed, now_ns);
}

static enum err_code flush(struct engine *engine, uint64_t now_ns, bool is_last)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    struct quality *const quality = profile_quality(engine->session->profile);
    const enum err_code rc = pass_instants(kernel);
    return rc ? rc : kernel_feed_flush(kernel->feed, quality, now_ns, is_last);
}

static uint64_t stands_since(struct engine *engine, const struct target *target,
                             const struct thread *thread, uint64_t now_ns)
{
    (void)now_ns;
    return kernel_feed_stands_since(kernel_of(engine)->feed, target, thread);
}

static enum err_code check_stands(struct engine *engine, const struct target *target,
                                  const struct thread *thread, uint64_t now_ns,
                                  bool *stands_out)
{
    return kernel_feed_check_stands(kernel_of(engine)->feed, target, thread, now_ns,
                                    stands_out);
}

static bool has_unfollowed_interpreters(const struct target *target)
{
    remote_addr followed[KERNEL_MAX_INTERPRETERS];
    return python_interpreters(target->python) > 1 &&
           !python_searched_interpreters(target->python, followed, KERNEL_MAX_INTERPRETERS);
}

static const char *warning(struct engine *engine, const struct target *target)
{
    (void)engine;
    return has_unfollowed_interpreters(target)
               ? "what its sub-interpreters run is not sampled: the kernel engine follows at most "
                 "16 of them, from Python 3.13 on (use --engine remote)"
               : NULL;
}

const char *kernel_engine_unfit(struct engine *engine)
{
    struct kernel_engine *const kernel = kernel_of(engine);
    size_t all = 0, unknown = 0;
    for (size_t i = 0; i < kernel->count; i++) {
        const struct python *const python = kernel->targets[i]->python;
        size_t count;
        if (has_unfollowed_interpreters(kernel->targets[i]))
            return "the kernel engine follows at most 16 sub-interpreters, from Python 3.13 on";
        (void)python_threads(python, &count);
        all += count;
        unknown += python_unknown_threads(python);
    }
    return !engine->session->options->waits && unknown && unknown == all
               ? "the kernel engine finds no thread whose number is unknown"
               : NULL;
}

const struct engine_ops kernel_engine_ops = {
    .samples_by_itself = true,
    .bytes = sizeof(struct kernel_engine),
    .init = init,
    .deinit = deinit,
    .add = add,
    .remove = remove_target,
    .begin = begin,
    .tick = tick,
    .skip = skip,
    .pause = pause_feed,
    .wait = wait_for_records,
    .set_rate = set_rate,
    .tick_hz = tick_hz,
    .flush = flush,
    .stands_since = stands_since,
    .check_stands = check_stands,
    .warning = warning,
};
