#include "sampler/session/stored/stored_engine.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/native/machine/machine.h"
#include "sampler/process/core_file.h"
#include "sampler/session.h"
#include "sampler/session/fold/lock_board.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/native/native_copies.h"
#include "sampler/session/target.h"

struct stored_engine {
    struct engine engine;
    struct target *targets[SESSION_MAX_PROCESSES];
    size_t count;
    struct native_copies copies;
};

/* The context of take_thread. */
struct stored_tick {
    struct stored_engine *stored;
    struct target *target;
    struct core_file *core;
    uint64_t now_ns;
};

static struct stored_engine *stored_of(struct engine *engine)
{
    return (struct stored_engine *)(void *)engine;
}

static enum err_code init(struct engine *engine, struct err *err)
{
    (void)engine, (void)err;
    return ERR_OK;
}

static void deinit(struct engine *engine)
{
    native_copies_deinit(&stored_of(engine)->copies);
}

static enum err_code add(struct engine *engine, struct target *target, struct err *err)
{
    struct stored_engine *const stored = stored_of(engine);
    (void)err;
    stored->targets[stored->count++] = target;
    return ERR_OK;
}

static enum err_code remove_target(struct engine *engine, struct target *target)
{
    struct stored_engine *const stored = stored_of(engine);
    for (size_t i = stored->count; i-- > 0;)
        if (stored->targets[i] == target)
            stored->targets[i] = stored->targets[--stored->count];
    return ERR_OK;
}

static enum err_code report_locks(const struct stored_tick *now,
                                  const struct thread_reading *reading)
{
    const struct target *const target = now->target;
    struct lock_use uses[LOCK_USES_MAX];
    struct lock_report report = { .pid = target->process.pid,
                                  .tid = reading->thread->host_tid,
                                  .uses = uses };
    if (!target->options->locks || report.tid <= 0 || reading->failure)
        return ERR_OK;
    /* A thread that was in no system call did not wait for a lock. */
    const enum err_code rc =
        python_read_locks(target->python, reading->thread,
                          reading->runs == VALUE_UNKNOWN ? VALUE_YES : reading->runs,
                          &reading->call, uses, &report.count);
    return rc ? rc : lock_board_note(target->locks, &report, 0, reading->now_ns);
}

/* Copies the native stack; NULL: it cannot be read. */
static const struct native_copy *copy_native(const struct stored_tick *now,
                                             const struct core_thread *thread)
{
    struct native_copies *const copies = &now->stored->copies;
    struct native_registers registers;
    remote_addr descriptor;
    if (!thread ||
        machine_take_registers(thread->registers, thread->thread_pointer, &registers,
                               &descriptor) ||
        native_copies_begin(copies, 1))
        return NULL;
    return native_copies_read_known(copies, &now->target->process.memory.memory, &registers,
                                    descriptor, core_file_notes(now->core)->stack_start);
}

static enum err_code take_thread(void *context, struct thread *thread, enum err_code failure)
{
    const struct stored_tick *const now = context;
    struct target *const target = now->target;
    struct thread_reading *const reading = reading_of(thread);
    const struct core_thread *const core_thread = core_file_thread(now->core, thread->host_tid);
    *reading = (struct thread_reading){ .thread = thread,
                                        .failure = failure,
                                        .state = python_thread_state(target->python, thread),
                                        .since_ns = now->now_ns,
                                        .now_ns = now->now_ns,
                                        .times = 1,
                                        .motion = THREAD_STILL,
                                        .is_asked = true,
                                        .runs = VALUE_UNKNOWN,
                                        .runnable = VALUE_UNKNOWN };
    if (core_thread)
        core_file_call(now->core, core_thread, &reading->call);
    if (reading->call.is_known)
        reading->runs = VALUE_NO;
    if (!failure && target->fold.native_stacks)
        reading->native = copy_native(now, core_thread);
    enum err_code rc = report_locks(now, reading);
    if (!rc && !failure)
        rc = target_read_locals(target, reading, false);
    if (!rc)
        rc = fold_reading(&target->fold, reading);
    if (!rc)
        target_place_locals(target, reading);
    reading->native = NULL;
    return rc;
}

/* Reads all threads, not only those that a tick of a live process would choose. */
static enum err_code sample(struct stored_tick *now)
{
    struct target *const target = now->target;
    size_t count = 0;
    enum err_code rc = python_choose(target->python, true);
    if (rc)
        return rc;
    struct thread *const *const listed = python_threads(target->python, &count);
    struct thread **const threads = calloc(count + 1, sizeof *threads);
    if (!threads)
        return ERR_NOMEM;
    /* The list may get another order meanwhile. */
    for (size_t i = 0; i < count; i++) {
        threads[i] = listed[i];
        threads[i]->stack.copy.is_still = true;
    }
    rc = target_read_tasks(target, 1, now->now_ns);
    if (!rc)
        rc = python_sample(target->python, threads, count, take_thread, now);
    const enum err_code settled = target_settle_tasks(target, now->now_ns);
    free(threads);
    return rc ? rc : settled;
}

static bool tick(struct engine *engine, struct engine_tick *instant, struct ending *out)
{
    struct stored_engine *const stored = stored_of(engine);
    const struct engine_session *const session = engine->session;
    bool goes_on = true;
    instant->has_sampled = false;
    instant->now_ns = clock_now_ns();
    for (size_t i = stored->count; i-- > 0 && goes_on;) {
        struct target *const target = stored->targets[i];
        struct stored_tick now = { .stored = stored,
                                   .target = target,
                                   .core = core_file_find(target->process.pid),
                                   .now_ns = instant->now_ns };
        struct ending ending = { .state = SESSION_FAILED,
                                 .reason = "the threads cannot be read" };
        const enum err_code rc = now.core ? sample(&now) : ERR_GONE;
        instant->has_sampled |= !rc;
        if (rc) {
            (void)target_ends_session(rc, &ending);
            goes_on = session->end_target(session->context, target, &ending, out);
        }
    }
    return goes_on;
}

static void do_nothing(struct engine *engine)
{
    (void)engine;
}

static bool skip(struct engine *engine, uint64_t instant_ns)
{
    (void)engine, (void)instant_ns;
    return false;
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
    (void)engine, (void)now_ns, (void)is_last;
    return ERR_OK;
}

static const char *warning(struct engine *engine, const struct target *target)
{
    (void)engine, (void)target;
    return NULL;
}

const struct engine_ops stored_engine_ops = {
    .bytes = sizeof(struct stored_engine),
    .init = init,
    .deinit = deinit,
    .add = add,
    .remove = remove_target,
    .begin = do_nothing,
    .tick = tick,
    .skip = skip,
    .pause = do_nothing,
    .set_rate = set_rate,
    .tick_hz = tick_hz,
    .flush = flush,
    .warning = warning,
};
