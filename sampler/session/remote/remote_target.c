#include "sampler/session/remote/remote_target.h"

#include "sampler/base/clock.h"
#include "sampler/cpython/python_tick.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"
#include "sampler/process/process_stats.h"
#include "sampler/process/procfs.h"
#include "sampler/process_tree.h"
#include "sampler/profile/profile.h"
#include "sampler/session/fold/lock_board.h"
#include "sampler/session/fold/sampled_thread.h"
#include "sampler/session/fold/thread_cpu.h"
#include "sampler/session/remote/asleep.h"
#include "sampler/session/target.h"

/* The faults of a process are read again after this time. */
static const uint64_t FAULTS_AGAIN_NS = NS_PER_S / 5;
/* An interpreter that is unreadable for this long while its process runs has ended. */
static const uint64_t GIVE_UP_NS = NS_PER_S;
/* A thread that has not moved in so many readings is read without a stop, so it costs no question; where native stacks
 * are wanted, one that waited when it was asked last costs one in so many times. */
static const uint32_t AT_REST_READINGS = 50, ASK_ONE_IN = 16;
/* How long a thread may take to stop where its registers are read. */
static const uint64_t STOP_DEADLINE_NS = 10 * NS_PER_MS;

/* Threads that were read while they stood still, to be counted once they go on. */
struct kept_threads {
    struct thread *items[PYTHON_MAX_THREADS_PER_TICK];
    size_t count;
};

/* The context of count_thread and keep_thread. */
struct target_tick {
    struct remote_target *remote;
    struct target *target;
    struct remote_tick *tick;
    struct stops_turn turn;
    struct remote_reading reading;
    struct kept_threads *kept; /* of a tick that stops threads */
    bool is_probe;             /* what is read only shows whether stops are needed */
};

/* A thread that does not move is certain whatever is done, but only a stop shows the native stack of one that runs. */
static void note_reading(const struct target_tick *now, const struct thread *thread,
                         enum err_code failure)
{
    const struct target *const target = now->target;
    const struct thread_reading *const reading = reading_of(thread);
    struct stops *const stops = &now->remote->stops;
    const bool wants_native = target->fold.native_stacks;
    if (failure || !thread->stack.is_unchanged) {
        stops_note_reading(stops,
                           failure || wants_native || thread->stack.certainty != STACK_EXACT);
        return;
    }
    /* A thread may run while its stack stands still, as in one long call of C code.  Mostly it waits, so it is not asked
     * each time. */
    bool runs = wants_native && reading->runs == VALUE_YES;
    if (wants_native && !reading->is_asked && !reading->is_stopped)
        runs = thread->host_tid > 0 && !random_below(&now->tick->random, ASK_ONE_IN) &&
               thread_cpus_ask(target->fold.cpus, thread->tag - 1u, target->process.pid,
                               thread->host_tid, NULL) == VALUE_YES;
    if (runs)
        stops_note_reading(stops, true);
}

static bool is_always_still(const struct target *target)
{
    return target->options->stop == SESSION_STOP_ALWAYS;
}

/* Completes a reading before the thread goes on: what the interpreter says, and what the thread works for. */
static struct thread_reading *take_reading(const struct target_tick *now, struct thread *thread,
                                           enum err_code failure)
{
    struct thread_reading *const reading = reading_of(thread);
    const struct stack *const stack = &thread->stack;
    const bool is_always = is_always_still(now->target);
    reading->thread = thread;
    reading->failure = failure;
    /* A thread that could not be stopped fails, unless it waited, where all samples are to be of threads that stand
     * still. */
    if (!failure && is_always && !stack->copy.is_still &&
        !(reading->runs == VALUE_NO && stack->certainty != STACK_TRUNCATED))
        reading->failure = ERR_PERM;
    /* At a tick that stops threads, those that were not stopped did not run when they were asked. */
    if (now->turn.step == STOPS_STILL)
        reading->motion = stack->copy.is_still                           ? THREAD_STOPPED
                          : is_always || stack->certainty == STACK_EXACT ? THREAD_STILL
                                                                         : THREAD_MOVING;
    else
        reading->motion =
            stack->copy.is_still || stack->is_unchanged ? THREAD_STILL : THREAD_MOVING;
    reading->state = python_thread_state(now->target->python, thread);
    reading->now_ns = now->tick->now_ns;
    if (failure || !thread->stack.is_unchanged)
        sampled_thread_of(thread)->moved_ns = reading->now_ns;
    if (!reading->failure)
        target_read_context(now->target, reading, NULL);
    return reading;
}

/* The reading is complete but for what it stands for. */
static enum err_code count(struct target_tick *now, struct thread *thread)
{
    struct target *const target = now->target;
    struct thread_reading *const reading = reading_of(thread);
    struct quality *const quality = profile_quality(target->fold.nodes.profile);
    reading->now_ns = now->tick->now_ns;
    reading->since_ns = now->turn.since_ns;
    /* A whole number that is the weight on average. */
    const double weight = now->reading.weight * now->turn.ticks;
    reading->times = (uint32_t)weight;
    if (weight > reading->times)
        reading->times += random_fraction(&now->tick->random) < weight - reading->times;
    if (reading->failure)
        now->reading.failures[reading->failure]++;
    if (!reading->failure && reading->times > now->turn.ticks)
        quality->extrapolated += reading->times - now->turn.ticks;
    const enum err_code rc = fold_reading(&target->fold, reading);
    if (!rc)
        target_place_locals(target, reading);
    return rc;
}

/* Reports the locks of a thread that stands still: that was stopped, waits, or has not moved since it was read last. */
static enum err_code report_locks(const struct target *target,
                                  const struct thread_reading *reading)
{
    struct thread *const thread = reading->thread;
    const bool waits = reading->is_asked && reading->runs == VALUE_NO;
    struct lock_use uses[LOCK_USES_MAX];
    struct lock_report report = { .pid = target->process.pid,
                                  .tid = thread->host_tid,
                                  .uses = uses };
    if (!target->options->locks || thread->host_tid <= 0 || reading->failure ||
        (reading->motion == THREAD_MOVING && !waits))
        return ERR_OK;
    struct system_call call = { 0 };
    (void)thread_cpus_ask(target->fold.cpus, thread->tag - 1u, target->process.pid,
                          thread->host_tid, &call);
    const enum err_code rc =
        python_read_locks(target->python, thread, reading->runs, &call, uses, &report.count);
    if (!rc && report.count && uses[0].is_waited) {
        report.switches = uses[0].gil_turn;
        /* To stop a thread makes it wait once more. */
        if (!uses[0].gil_turn && !reading->is_stopped)
            (void)process_thread_waits(report.pid, report.tid, &report.switches);
    }
    return rc ? rc : lock_board_note(target->locks, &report, 0, reading->now_ns);
}

/* Reads the variables of a thread that stands still. */
static enum err_code read_locals(struct target *target, const struct thread_reading *reading)
{
    const bool is_stopped = reading->is_stopped && reading->thread->stack.copy.is_still;
    const bool waits = reading->is_asked && reading->runs == VALUE_NO;
    return reading->failure || (reading->motion == THREAD_MOVING && !waits)
               ? ERR_OK
               : target_read_locals(target, reading, is_stopped);
}

static enum err_code count_thread(void *context, struct thread *thread, enum err_code failure)
{
    struct target_tick *const now = context;
    if (!target_is_same(now->target))
        return ERR_GONE;
    if (now->is_probe || now->turn.step == STOPS_MOVING)
        note_reading(now, thread, failure);
    if (now->is_probe)
        return ERR_OK;
    struct thread_reading *const reading = take_reading(now, thread, failure);
    if (!reading->failure)
        asleep_find(now->target, &now->tick->asleep, reading);
    enum err_code rc = report_locks(now->target, reading);
    if (!rc)
        rc = read_locals(now->target, reading);
    if (!rc)
        rc = count(now, thread);
    reading->native = NULL;
    reading->keeps_native = false;
    return rc;
}

/* The thread stands still: reads what has to be read now, and leaves the rest to count_kept. */
static enum err_code keep_thread(void *context, struct thread *thread, enum err_code failure)
{
    const struct target_tick *const now = context;
    if (!target_is_same(now->target))
        return ERR_GONE;
    now->kept->items[now->kept->count++] = thread;
    const struct thread_reading *const reading = take_reading(now, thread, failure);
    if (reading->failure)
        return ERR_OK;
    enum err_code rc = report_locks(now->target, reading);
    if (!rc)
        rc = read_locals(now->target, reading);
    return rc ? rc : fold_read_leaf(&now->target->fold, thread);
}

static enum err_code count_kept(struct target_tick *now)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < now->kept->count && !rc; i++)
        rc = count(now, now->kept->items[i]);
    return rc;
}

/* The threads of a tick; the stopped ones come first. */
struct sampled {
    struct thread *threads[PYTHON_MAX_THREADS_PER_TICK];
    size_t count, stopped;
};

/* Asks whether the thread runs: once stopped, none does.  One that sleeps stands still already, but its registers can be read
 * only if it is stopped. */
static bool is_to_stop(const struct target_tick *now, struct thread *thread)
{
    const struct target *const target = now->target;
    struct thread_reading *const reading = reading_of(thread);
    const bool is_always = is_always_still(target);
    const bool is_at_rest =
        thread->stack.still > AT_REST_READINGS && !sub_stacks_are_several(thread) &&
        !(target->fold.native_stacks &&
          (reading->runs == VALUE_YES || !random_below(&now->tick->random, ASK_ONE_IN)));
    reading->is_asked = false;
    reading->runs = VALUE_UNKNOWN;
    if (thread->host_tid <= 0 || (!is_always && is_at_rest))
        return false;
    reading->runs = thread_cpus_ask(target->fold.cpus, thread->tag - 1u, target->process.pid,
                                    thread->host_tid, &reading->call);
    reading->is_asked = reading->runs != VALUE_UNKNOWN;
    if (reading->runs != VALUE_NO || !is_always || !target->fold.native_stacks)
        return reading->runs != VALUE_NO;
    char state;
    /* A thread in an uninterruptible sleep stops only after it: a disk that does not answer, a child of vfork. */
    if (!reading->call.is_known || !system_call_ends_by_a_stop(reading->call.number))
        return procfs_thread_state(target->process.pid, thread->host_tid, &state, NULL) ||
               state != 'D';
    asleep_begin(target, thread);
    return false;
}

static enum err_code stop_threads(const struct target_tick *now, const struct sampled *sampled)
{
    struct target *const target = now->target;
    struct stopper *const stopper = &now->tick->stopper;
    struct native_copies *const native =
        target->fold.native_stacks ? &now->tick->stopped : NULL;
    int32_t tids[PYTHON_MAX_THREADS_PER_TICK];
    for (size_t i = 0; i < sampled->stopped; i++)
        tids[i] = sampled->threads[i]->host_tid;
    enum err_code rc = native ? native_copies_begin(native, sampled->stopped) : ERR_OK;
    if (!rc)
        rc = stopper_stop(stopper, &target->process, tids, sampled->stopped,
                          native ? clock_now_ns() + STOP_DEADLINE_NS : 0);
    for (size_t i = 0; i < sampled->stopped && !rc; i++) {
        struct thread *const thread = sampled->threads[i];
        thread->stack.copy.is_still = stopper_holds(stopper, thread->host_tid);
        if (!thread->stack.copy.is_still)
            continue;
        struct thread_reading *const reading = reading_of(thread);
        if (reading->runs == VALUE_YES && stopper_has_interrupted_wait(thread->host_tid))
            reading->runs = VALUE_NO;
        if (native)
            reading->native = native_copies_read(native, &target->process.memory.memory,
                                                 thread->host_tid, target->stack_start);
    }
    return rc;
}

uint64_t page_faults_since(struct page_faults *faults, int pid, uint64_t now_ns)
{
    struct process_stats stats;
    const bool is_first = !faults->due_ns;
    const uint64_t before = faults->count;
    if (now_ns < faults->due_ns)
        return 0;
    faults->due_ns = now_ns + FAULTS_AGAIN_NS;
    if (process_stats_read(pid, &stats, NULL) || stats.minor_faults < before)
        return 0;
    faults->count = stats.minor_faults;
    return is_first ? 0 : stats.minor_faults - before;
}

static void resume_threads(const struct target_tick *now, const struct sampled *sampled)
{
    struct remote_target *const remote = now->remote;
    struct stopper *const stopper = &now->tick->stopper;
    struct quality *const quality = profile_quality(now->target->fold.nodes.profile);
    stopper_resume(stopper);
    for (size_t i = 0; i < sampled->stopped; i++)
        sampled->threads[i]->stack.copy.is_still = false;
    if (stopper->stop_ns)
        stops_note_stop(&remote->stops, stopper->stop_ns, clock_now_ns());
    if (sampled->stopped)
        quality->page_faults +=
            page_faults_since(&remote->faults, now->target->process.pid, clock_now_ns());
    quality->stopped_ns = stopper->stopped_ns;
}

/* Keeps a thread that cannot run as long as the profiler has its processor; if it has run, what was read means nothing. */
static enum err_code keep_held(void *context, struct thread *thread, enum err_code failure)
{
    const struct target_tick *const now = context;
    if (!now->is_probe && beside_has_held(&now->tick->beside, now->target->fold.cpus, thread))
        return keep_thread(context, thread, failure);
    reading_of(thread)->failure = failure;
    now->kept->items[now->kept->count++] = thread;
    return ERR_OK;
}

/* Reads threads that cannot run.  Those that did nevertheless are put at the end of `threads`; returns how many in
 * *ran_out. */
static enum err_code read_held(struct target_tick *now, struct thread **threads, size_t count,
                               size_t *ran_out)
{
    struct target *const target = now->target;
    struct kept_threads *const kept = now->kept;
    size_t stood = 0, ran = 0;
    if (!now->is_probe)
        now->tick->now_ns = clock_now_ns();
    for (size_t i = 0; i < count; i++)
        threads[i]->stack.copy.is_still = true;
    const enum err_code rc = python_sample(target->python, threads, count, keep_held, now);
    for (size_t i = 0; i < count; i++)
        threads[i]->stack.copy.is_still = false;
    for (size_t i = 0; i < kept->count; i++) {
        struct thread *const thread = kept->items[i];
        if (beside_has_held(&now->tick->beside, target->fold.cpus, thread)) {
            kept->items[stood++] = kept->items[i];
        } else {
            python_forget_stack(target->python, thread);
            sampled_thread_of(thread)->has_leaf = false;
            threads[count - ++ran] = thread;
        }
    }
    for (size_t i = 0; i < stood && rc; i++)
        sampled_thread_of(kept->items[i])->has_leaf = false;
    kept->count = stood;
    *ran_out = ran;
    return rc;
}

static enum err_code count_held(struct target_tick *now)
{
    struct kept_threads *const kept = now->kept;
    for (size_t i = 0; i < kept->count; i++)
        note_reading(now, kept->items[i], reading_of(kept->items[i])->failure);
    if (now->is_probe)
        return ERR_OK;
    for (size_t i = 0; i < kept->count; i++) {
        struct thread_reading *const reading = reading_of(kept->items[i]);
        reading->is_asked = true;
        reading->runs = VALUE_YES;
        reading->runnable = VALUE_UNKNOWN;
        reading->call = (struct system_call){ 0 };
    }
    const enum err_code rc = count_kept(now);
    for (size_t i = 0; i < kept->count; i++)
        reading_of(kept->items[i])->is_asked = false;
    return rc;
}

/* Reads threads that nobody has stopped: first those that cannot run, because the profiler has their processor. */
static enum err_code read_unstopped(struct target_tick *now, struct thread *const *threads,
                                    size_t count)
{
    struct thread_cpus *const cpus = now->target->fold.cpus;
    struct beside *const beside = &now->tick->beside;
    struct thread *ordered[PYTHON_MAX_THREADS_PER_TICK];
    struct kept_threads kept;
    size_t ran = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count; i++)
        ordered[i] = threads[i];
    kept.count = 0;
    now->kept = &kept;
    /* Without a stop there is no native stack; and to get to the thread's processor takes long after its task was read. */
    const bool may_hold = !now->target->fold.native_stacks && !now->target->fold.tasks;
    const size_t held = may_hold ? beside_begin(beside, cpus, now->target->process.pid, ordered,
                                                count, &now->tick->random)
                                 : 0;
    if (held)
        rc = read_held(now, ordered, held, &ran);
    beside_end(beside, cpus);
    if (held && !rc)
        rc = count_held(now);
    const size_t done = held - ran;
    return rc ? rc
              : python_sample(now->target->python, ordered + done, count - done, count_thread,
                              now);
}

/* The kernel did not let us stop any thread.  The target is asked again: at the next tick if all samples are to be of
 * threads that stand still, otherwise after a while, and threads are read while they move until then. */
static enum err_code sample_refused(struct target_tick *now, const struct sampled *sampled)
{
    struct target *const target = now->target;
    resume_threads(now, sampled);
    stops_refuse(&now->remote->stops, now->tick->now_ns);
    now->turn.step = STOPS_MOVING;
    for (size_t i = 0; i < sampled->stopped; i++)
        reading_of(sampled->threads[i])->is_stopped = false;
    return python_sample(target->python, sampled->threads, sampled->stopped, count_thread, now);
}

/* Reads the threads that are to be stopped while they are, and before that the others: a thread that is stopped lets
 * the GIL go soon after, and then one of the others would be found with it. */
static enum err_code sample_still(struct target_tick *now)
{
    struct target *const target = now->target;
    struct stopper *const stopper = &now->tick->stopper;
    struct sampled sampled = { .count = 0 };
    struct kept_threads kept;
    size_t count;
    struct thread *const *const chosen = python_chosen(target->python, &count);
    kept.count = 0;
    now->kept = &kept;
    for (size_t i = 0; i < count; i++) {
        struct thread *const thread = chosen[i];
        reading_of(thread)->is_stopped = is_to_stop(now, thread);
        sampled.threads[sampled.count++] = thread;
        if (!reading_of(thread)->is_stopped)
            continue;
        sampled.threads[sampled.count - 1] = sampled.threads[sampled.stopped];
        sampled.threads[sampled.stopped++] = thread;
    }
    now->tick->now_ns = clock_now_ns();
    enum err_code rc = python_sample(target->python, sampled.threads + sampled.stopped,
                                     sampled.count - sampled.stopped, count_thread, now);
    if (rc || !sampled.stopped)
        return rc;
    rc = stop_threads(now, &sampled);
    profile_quality(target->fold.nodes.profile)->stops_refused += stopper->refused > 0;
    now->tick->now_ns = clock_now_ns();
    if (rc == ERR_PERM && !is_always_still(target))
        return sample_refused(now, &sampled);
    /* Threads that were not stopped are left to check_still. */
    if (rc != ERR_NOMEM)
        rc = python_sample(target->python, sampled.threads, sampled.stopped, keep_thread, now);
    resume_threads(now, &sampled);
    const enum err_code counted = count_kept(now);
    for (size_t i = 0; i < sampled.stopped; i++)
        reading_of(sampled.threads[i])->native = NULL;
    if (!rc)
        rc = counted;
    if (rc)
        return rc;

    /* The threads are read once more, while they move.  Not shortly before they are stopped: what another processor has
     * just read is slow to write, so they would be stopped too often where they write much of it. */
    if (!stops_wants_probe(&now->remote->stops))
        return ERR_OK;
    now->is_probe = true;
    rc = read_unstopped(now, sampled.threads, sampled.stopped);
    now->is_probe = false;
    /* The next tick sees what is gone. */
    return rc == ERR_NOMEM ? rc : ERR_OK;
}

static enum err_code sample(struct target_tick *now)
{
    struct target *const target = now->target;
    enum err_code rc = python_choose(target->python, target->options->all_threads);
    if (rc)
        return rc;
    now->remote->stops.needs_stops = python_knows_opcodes(target->python) != VALUE_YES;
    /* A sample stands for threads that were not sampled, too. */
    now->reading.weight = python_weight(target->python) * now->tick->weight;
    rc = target_read_tasks(target, 1, now->tick->now_ns);
    if (!rc && now->turn.step == STOPS_STILL) {
        rc = sample_still(now);
    } else if (!rc) {
        size_t count;
        struct thread *const *const chosen = python_chosen(target->python, &count);
        for (size_t i = 0; i < count; i++)
            reading_of(chosen[i])->is_stopped = reading_of(chosen[i])->is_asked = false;
        now->tick->now_ns = clock_now_ns();
        rc = read_unstopped(now, chosen, count);
    }
    const enum err_code settled = target_settle_tasks(target, now->tick->now_ns);
    return rc ? rc : settled;
}

void remote_target_init(struct remote_target *remote, struct target *target)
{
    const struct session_options *const options = target->options;
    *remote = (struct remote_target){ .target = target };
    stops_init(&remote->stops, options->stop, options->max_stop_percent / 100);
    remote->stops.needs_stops = python_knows_opcodes(target->python) != VALUE_YES;
}

void remote_target_pass(struct remote_target *remote)
{
    remote->target->tasks.owed += remote->target->fold.tasks != NULL;
}

void remote_target_skip(struct remote_target *remote, uint64_t now_ns)
{
    remote_target_pass(remote);
    stops_skip(&remote->stops, now_ns);
}

enum err_code remote_target_repeat(struct remote_target *remote, uint64_t now_ns)
{
    struct fold *const fold = &remote->target->fold;
    struct remote_reading *const last = &remote->last;
    const struct stops_skipped skipped = remote->stops.skipped;
    if (!skipped.ticks || !last->now_ns)
        return ERR_OK;
    /* A tick may have been skipped before its time. */
    const uint64_t last_ns = skipped.last_ns < now_ns ? skipped.last_ns : now_ns - 1;
    const struct repetition repetition = {
        .pid = remote->target->process.pid,
        .sampled_ns = last->now_ns,
        .first_ns = skipped.first_ns < last_ns ? skipped.first_ns : last_ns,
        .last_ns = last_ns,
        .ticks = skipped.ticks,
        .weight = last->weight,
    };
    stops_stood(&remote->stops);
    last->now_ns = last_ns;
    for (enum err_code failure = ERR_OK + 1; failure <= ERR_NOT_PYTHON; failure++)
        fold_count_failure(fold, failure,
                           (uint32_t)(last->failures[failure] * skipped.ticks * last->weight));
    return thread_cpus_repeat(fold->cpus, &repetition);
}

bool remote_target_survives(struct remote_target *remote, enum err_code rc, uint64_t now_ns,
                            struct ending *out)
{
    if (target_ends_session(rc, out) || !target_may_stay(remote->target, out))
        return false;
    if (!remote->failing_since_ns)
        remote->failing_since_ns = now_ns;
    if (now_ns - remote->failing_since_ns <= GIVE_UP_NS)
        return true;
    *out = rc == ERR_PERM
               ? (struct ending){ .state = SESSION_FAILED,
                                  .reason = "the kernel no longer lets us read the target (has "
                                            "it changed its user?)" }
               : (struct ending){ .state = SESSION_ENDED,
                                  .reason = "the target's interpreter has ended" };
    return false;
}

enum err_code remote_target_sample(struct remote_target *remote, struct remote_tick *tick)
{
    tick->now_ns = clock_now_ns();
    struct target_tick now = { .remote = remote,
                               .target = remote->target,
                               .tick = tick,
                               .turn = stops_next(&remote->stops, tick->now_ns) };
    if (tick->stopper.count)
        resume_threads(&now, &(struct sampled){ .count = 0 });
    /* The value that a thread works for is known without a stop. */
    if (now.turn.step == STOPS_SKIP && !remote->stops.needs_stops &&
        target_has_new_context(remote->target, tick->now_ns)) {
        now.turn = stops_take_back(&remote->stops, tick->now_ns);
        const enum err_code repeated = remote_target_repeat(remote, tick->now_ns);
        if (repeated)
            return repeated;
    }
    if (now.turn.step == STOPS_SKIP) {
        remote_target_pass(remote);
        return ERR_OK;
    }
    const enum err_code rc = sample(&now);
    if (rc) {
        /* Some threads may have been counted for the skipped ticks, and must not be again. */
        const enum err_code repeated = remote_target_repeat(remote, tick->now_ns);
        return repeated ? repeated : rc;
    }
    stops_stood(&remote->stops);
    now.reading.now_ns = tick->now_ns;
    remote->last = now.reading;
    remote->failing_since_ns = 0;
    return ERR_OK;
}
