#include "sampler/session/target.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python.h"
#include "sampler/kernel/record.h"
#include "sampler/process/stopper.h"
#include "sampler/profile/profile.h"
#include "sampler/session/bias.h"
#include "sampler/session/origins.h"
#include "sampler/session/thread_cpu.h"

/* An interpreter that is unreadable for this long while its process runs has ended. */
static const uint64_t GIVE_UP_NS = NS_PER_S;
/* A thread that has not moved in so many readings is read without a stop, so it costs no question. */
static const uint32_t AT_REST_READINGS = 50;
/* How long a thread may take to stop. */
static const uint64_t STOP_DEADLINE_NS = 10 * NS_PER_MS;

static enum err_code check_mode(const struct target *target, enum sampler_mode mode,
                                struct err *err)
{
    const bool is_gil = mode == SAMPLER_MODE_GIL && !python_knows_gil(target->python);
    if (!is_gil && (mode != SAMPLER_MODE_EXCEPTION || python_knows_exceptions(target->python)))
        return ERR_OK;
    return err_set(err, ERR_INVALID,
                   "process %d runs Python %s, which does not show which threads %s: use mode "
                   "wall, or Python 3.12 or later for mode %s",
                   target->process.pid, python_version(target->python),
                   is_gil ? "hold the GIL" : "handle an exception",
                   is_gil ? "gil" : "exception");
}

enum err_code target_open(int pid, enum runtime_effort effort, enum sampler_mode mode,
                          const atomic_bool *is_cancelled, struct strtab *strings,
                          struct target **out, struct err *err)
{
    struct target *const target = calloc(1, sizeof *target);
    if (!target)
        return err_nomem(err);
    target->process.pidfd = target->process.space_fd = -1;
    enum err_code rc = process_open(&target->process, pid, err);
    target->process.is_cancelled = is_cancelled;
    if (!rc)
        rc = python_attach(&target->process, effort, strings, &target->python, err);
    target->process.is_cancelled = NULL;
    if (!rc)
        rc = check_mode(target, mode, err);
    if (rc)
        target_close(target);
    else
        *out = target;
    return rc;
}

void target_close(struct target *target)
{
    if (!target)
        return;
    task_fold_deinit(&target->tasks);
    python_detach(target->python);
    process_close(&target->process);
    free(target);
}

enum err_code target_join(struct target *target, struct profile *profile,
                          struct thread_cpus *cpus, struct origins *origins,
                          const struct sampler_options *options, struct err *err)
{
    struct process *const process = &target->process;
    const char *const name = process->argc ? process->argv[0] : "";
    target->options = options;
    stops_init(&target->stops, options->stop, options->max_stop_percent / 100);
    const enum err_code rc = fold_init(&target->fold, profile, python_leaves(target->python),
                                       cpus, options, process->pid, name, err);
    if (rc)
        return rc;
    target->fold.origins = origins;
    target->fold.origin = origins_add(origins, process, python_anchor(target->python));
    if (options->async == SAMPLER_ASYNC_OFF)
        return rc;
    target->fold.tasks = &target->tasks;
    const enum err_code made =
        task_fold_init(&target->tasks, &target->fold, python_tasks(target->python),
                       options->async == SAMPLER_ASYNC_ALL, err);
    target->tasks.is_each = options->tasks_each;
    return made;
}

static void count_reads(struct target *target)
{
    struct quality *const quality = profile_quality(target->fold.profile);
    struct code_counters *const codes = &python_codes(target->python)->counters;
    struct memory *const memory = &target->process.memory.memory;
    quality->reads += memory->reads;
    quality->read_bytes += memory->read_bytes;
    quality->code_hits += codes->hits;
    quality->code_misses += codes->misses;
    quality->code_stale += codes->stale;
    quality->code_clears += codes->clears;
    memory->reads = memory->read_bytes = 0;
    *codes = (struct code_counters){ 0 };
    target->checked_misses = 0;
}

enum err_code target_flush(struct target *target, uint64_t now_ns)
{
    count_reads(target);
    return target->fold.tasks ? task_fold_flush(&target->tasks, now_ns) : ERR_OK;
}

enum err_code target_leave(struct target *target, uint64_t now_ns)
{
    const enum err_code rc = target_flush(target, now_ns);
    return rc ? rc : thread_cpus_drop(target->fold.cpus, target->process.pid, now_ns);
}

size_t target_threads(const struct target *target)
{
    return python_threads_per_tick(target->python, target->options->all_threads);
}

/* The context of count_thread. */
struct target_tick {
    struct target *target;
    struct tick *tick;
    struct stops_turn turn;
};

/* A whole number that is `weight` on average. */
static uint32_t whole(struct tick *tick, double weight)
{
    const uint32_t floor = (uint32_t)weight;
    return weight > floor ? floor + (random_fraction(&tick->random) < weight - floor) : floor;
}

/* Code objects are read after the stack.  If the process has ended or called exec in between, what was
 * read may belong to its successor with the same pid or the same addresses. */
static bool is_of_target(struct target *target)
{
    const uint64_t misses = python_codes(target->python)->counters.misses;
    if (misses == target->checked_misses)
        return true;
    target->checked_misses = misses;
    return process_fate(&target->process, python_anchor(target->python)) == PROCESS_RUNS;
}

/* A thread that does not move is certain whatever is done. */
static void note_reading(struct target *target, const struct thread *thread,
                         enum err_code failure)
{
    if (failure || !thread->stack.is_unchanged)
        stops_note_reading(&target->stops, failure || thread->stack.certainty != STACK_EXACT);
}

/* The control of a window without stops is of the same threads as its other readings: those that have
 * moved since they were read last. */
static enum err_code compare(const struct target_tick *now, const struct thread *thread)
{
    const struct stack *const stack = &thread->stack;
    const bool is_stopping = now->turn.step == STOPS_STILL;
    if (stack->is_unchanged || !stack->count)
        return ERR_OK;
    const struct code *const code =
        code_at(now->target->fold.codes, stack->frames[stack->count - 1].code);
    if (is_stopping && now->target->stops.is_still)
        bias_note_still(now->tick->bias, thread->times);
    else if (code->tag && now->target->stops.policy == SAMPLER_STOP_AUTO)
        return bias_note(now->tick->bias, code->tag - 1, is_stopping);
    return ERR_OK;
}

/* Of a tick that stops threads, the others did not run when they were asked. */
static enum thread_motion motion_of(const struct target_tick *now, const struct thread *thread)
{
    const bool is_exact = thread->stack.certainty == STACK_EXACT;
    if (now->turn.step == STOPS_STILL)
        return thread->stack.copy.is_still ? THREAD_STOPPED
               : is_exact                  ? THREAD_STILL
                                           : THREAD_MOVING;
    return thread->stack.is_unchanged ? THREAD_STILL : THREAD_MOVING;
}

static enum err_code count_thread(void *context, struct thread *thread, enum err_code failure)
{
    const struct target_tick *const now = context;
    struct target *const target = now->target;
    struct fold *const fold = &target->fold;
    struct tick *const tick = now->tick;
    struct quality *const quality = profile_quality(fold->profile);
    if (!is_of_target(target))
        return ERR_GONE;
    if (now->turn.step != STOPS_STILL)
        note_reading(target, thread, failure);
    if (now->turn.step == STOPS_PROBE)
        return ERR_OK;
    /* The sample stands for ticks and for threads that were not sampled. */
    const double weight = python_weight(target->python) * tick->weight;
    thread->sampled_ns = tick->now_ns;
    thread->times = whole(tick, weight * now->turn.ticks);
    thread->since_ns = now->turn.since_ns;
    if (!failure && thread->times > now->turn.ticks)
        quality->extrapolated += thread->times - now->turn.ticks;
    thread->motion = motion_of(now, thread);
    const enum err_code rc = fold_thread(
        fold, thread, python_thread_state(target->python, thread), failure, tick->now_ns);
    return rc || failure ? rc : compare(now, thread);
}

struct copied_sample {
    struct target *target;
    const struct target_instants *instants;
};

static enum err_code count_copied(void *context, struct thread *thread, enum err_code failure)
{
    const struct copied_sample *const copied = context;
    struct target *const target = copied->target;
    if (!is_of_target(target))
        return ERR_GONE;
    thread->sampled_ns = copied->instants->until_ns;
    thread->is_stopped = true;
    thread->runs = copied->instants->runs;
    thread->times = copied->instants->times;
    thread->since_ns = copied->instants->since_ns;
    thread->motion = THREAD_STILL;
    return fold_thread(&target->fold, thread, python_thread_state(target->python, thread),
                       failure, copied->instants->until_ns);
}

enum err_code target_take(struct target *target, struct thread *thread, struct memory *copy,
                          const struct target_instants *instants)
{
    struct copied_sample copied = { target, instants };
    return python_take_copy(target->python, thread, copy, count_copied, &copied);
}

enum err_code target_read_waiting(struct target *target, struct thread *thread,
                                  const struct target_instants *instants)
{
    struct copied_sample copied = { target, instants };
    return python_read_waiting(target->python, thread, count_copied, &copied);
}

void target_describe(const struct target *target, struct kernel_process *out)
{
    const struct layout *const layout = &python_runtime(target->python)->layout;
    *out = (struct kernel_process){
        .frames = layout->frame_lasti     ? KERNEL_HEAP_FRAMES
                  : layout->tstate_cframe ? KERNEL_CFRAMES
                                          : KERNEL_CHUNKS,
        .tstate_frame = layout->tstate_current_frame,
        .tstate_cframe = layout->tstate_cframe,
        .tstate_chunk = layout->tstate_datastack_chunk,
        .tstate_top = layout->tstate_datastack_top,
        .cframe_bytes = layout->cframe_bytes,
        .cframe_frame = layout->cframe_current_frame,
        .frame_bytes = layout->frame_bytes,
        .frame_previous = layout->frame_previous,
        .only_tid = target->options->all_threads ? 0 : (uint32_t)target->process.pid,
    };
    const struct thread_windows windows = python_windows(target->python, NULL);
    out->tstate_bytes = windows.tstate_bytes;
    out->runtime_window = windows.runtime;
    out->runtime_window_bytes = windows.runtime_bytes;
}

void target_describe_thread(const struct target *target, const struct thread *thread,
                            struct kernel_thread *out)
{
    const struct thread_windows windows = python_windows(target->python, thread);
    *out = (struct kernel_thread){ .tstate = thread->head.addr,
                                   .window = windows.interpreter,
                                   .window_bytes = windows.interpreter_bytes,
                                   .pid = (uint32_t)target->process.pid };
}

/* The threads of a tick; the stopped ones come first. */
struct sampled {
    struct thread *threads[PYTHON_MAX_THREADS_PER_TICK];
    size_t count, stopped;
};

/* Asks whether the thread runs: once stopped, none does. */
static bool is_to_stop(const struct target *target, struct thread *thread)
{
    const bool is_always = target->options->stop == SAMPLER_STOP_ALWAYS;
    if (thread->host_tid <= 0 || (!is_always && thread->stack.still > AT_REST_READINGS))
        return false;
    thread->runs = thread_cpus_ask(target->fold.cpus, thread->tag - 1u, target->process.pid,
                                   thread->host_tid);
    return is_always || thread->runs != VALUE_NO;
}

static void choose_stopped(const struct target *target, struct sampled *out)
{
    size_t count;
    struct thread *const *const chosen = python_chosen(target->python, &count);
    for (size_t i = 0; i < count; i++) {
        struct thread *const thread = chosen[i];
        thread->is_stopped = is_to_stop(target, thread);
        out->threads[out->count++] = thread;
        if (!thread->is_stopped)
            continue;
        out->threads[out->count - 1] = out->threads[out->stopped];
        out->threads[out->stopped++] = thread;
    }
}

static enum err_code stop_threads(struct stopper *stopper, const struct sampled *sampled)
{
    int32_t tids[PYTHON_MAX_THREADS_PER_TICK];
    for (size_t i = 0; i < sampled->stopped; i++)
        tids[i] = sampled->threads[i]->host_tid;
    const enum err_code rc =
        stopper_stop(stopper, tids, sampled->stopped, clock_now_ns() + STOP_DEADLINE_NS);
    for (size_t i = 0; i < sampled->stopped && !rc; i++) {
        struct thread *const thread = sampled->threads[i];
        thread->stack.copy.is_still = stopper_holds(stopper, thread->host_tid);
        if (thread->runs == VALUE_YES && stopper_has_interrupted_wait(thread->host_tid))
            thread->runs = VALUE_NO;
    }
    return rc;
}

static void resume_threads(struct target *target, struct stopper *stopper,
                           const struct sampled *sampled)
{
    struct quality *const quality = profile_quality(target->fold.profile);
    stopper_resume(stopper);
    for (size_t i = 0; i < sampled->stopped; i++)
        sampled->threads[i]->stack.copy.is_still = false;
    if (stopper->stop_ns)
        stops_note_stop(&target->stops, stopper->stop_ns);
    quality->stopped_ns = stopper->stopped_ns;
}

/* If tasks are unreadable, threads are sampled nevertheless. */
static enum err_code read_tasks(struct target *target, uint64_t now_ns)
{
    if (!target->fold.tasks || !task_fold_is_due(&target->tasks, now_ns))
        return ERR_OK;
    const enum err_code rc = python_read_tasks(target->python, now_ns);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    return task_fold_count(&target->tasks);
}

/* Reads the threads that are to be stopped while they are, and then the others. */
static enum err_code sample_still(struct target_tick *now)
{
    struct target *const target = now->target;
    struct stopper *const stopper = now->tick->stopper;
    struct sampled sampled = { .count = 0 };
    choose_stopped(target, &sampled);
    enum err_code rc = sampled.stopped ? stop_threads(stopper, &sampled) : ERR_OK;
    if (rc == ERR_PERM && target->options->stop == SAMPLER_STOP_AUTO) {
        stops_refuse(&target->stops);
        profile_quality(target->fold.profile)->stops_refused++;
        rc = ERR_OK;
    }
    now->tick->now_ns = clock_now_ns();
    if (!rc || rc == ERR_GONE)
        rc = python_sample(target->python, sampled.threads, sampled.stopped, count_thread, now);
    resume_threads(target, stopper, &sampled);
    return rc ? rc
              : python_sample(target->python, sampled.threads + sampled.stopped,
                              sampled.count - sampled.stopped, count_thread, now);
}

static enum err_code sample_moving(struct target_tick *now)
{
    size_t count;
    struct thread *const *const chosen = python_chosen(now->target->python, &count);
    for (size_t i = 0; i < count; i++)
        chosen[i]->is_stopped = false;
    now->tick->now_ns = clock_now_ns();
    return python_sample(now->target->python, chosen, count, count_thread, now);
}

enum err_code target_sample(struct target *target, struct tick *tick)
{
    struct target_tick now = { target, tick, stops_next(&target->stops, clock_now_ns()) };
    if (tick->stopper && tick->stopper->count)
        resume_threads(target, tick->stopper, &(struct sampled){ .count = 0 });
    if (now.turn.step == STOPS_SKIP)
        return ERR_OK;
    enum err_code rc = python_choose(target->python, target->options->all_threads);
    if (!rc && now.turn.step != STOPS_PROBE)
        rc = read_tasks(target, clock_now_ns());
    if (!rc)
        rc = now.turn.step == STOPS_STILL ? sample_still(&now) : sample_moving(&now);
    if (target->fold.tasks && now.turn.step != STOPS_PROBE)
        task_fold_settle(&target->tasks, tick->now_ns);
    if (!rc)
        target->failing_since_ns = 0;
    return rc;
}

/* Returns false, so that a caller can return what this returns. */
static bool end(struct ending *out, enum sampler_state state, bool is_of_all,
                const char *reason)
{
    *out = (struct ending){ state, reason, is_of_all };
    return false;
}

bool target_survives(struct target *target, enum err_code rc, uint64_t now_ns,
                     struct ending *out)
{
    if (rc == ERR_NOMEM)
        return end(out, SAMPLER_FAILED, true, "out of memory");
    if (rc == ERR_LIMIT)
        return end(out, SAMPLER_FAILED, true, "a table of the profile is full");
    if (rc == ERR_PERM && target->options->stop == SAMPLER_STOP_ALWAYS)
        return end(out, SAMPLER_FAILED, false,
                   "the kernel refuses to stop the target (is it being traced already?)");
    if (!target_runs(target, out))
        return false;
    if (!target->failing_since_ns)
        target->failing_since_ns = now_ns;
    if (now_ns - target->failing_since_ns > GIVE_UP_NS)
        return end(out, SAMPLER_ENDED, false, "the target's interpreter has ended");
    return true;
}

bool target_runs(struct target *target, struct ending *out)
{
    switch (process_fate(&target->process, python_anchor(target->python))) {
    case PROCESS_EXITED: return end(out, SAMPLER_ENDED, false, "the target exited");
    case PROCESS_REPLACED:
        return end(out, SAMPLER_ENDED, false,
                   "the target replaced itself with another program (exec)");
    case PROCESS_RUNS: break;
    }
    return true;
}
