#include "sampler/session/fold/thread_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/open_files.h"
#include "sampler/base/vec.h"

/* The files of a thread that could not be read are opened again after this time. */
static const uint64_t OPEN_AGAIN_NS = 100 * NS_PER_MS;

/* States where the kernel does not say how long a thread was without a processor. */
enum {
    ON_CPU_OR_RUNNABLE = STATE_ON_CPU | STATE_UNKNOWN_RUNNABLE,
    NOTHING_KNOWN = STATE_UNKNOWN_ON_CPU | STATE_UNKNOWN_RUNNABLE,
};

void thread_cpus_init(struct thread_cpus *cpus, struct profile *profile)
{
    *cpus = (struct thread_cpus){ .profile = profile };
}

static void close_cpu(struct thread_cpu *thread_cpu)
{
    if (thread_cpu->has_meter)
        cpu_meter_close(&thread_cpu->meter);
    *thread_cpu = (struct thread_cpu){ 0 };
}

void thread_cpus_deinit(struct thread_cpus *cpus)
{
    for (size_t i = 0; i < cpus->count; i++)
        close_cpu(&cpus->items[i]);
    free(cpus->items);
    *cpus = (struct thread_cpus){ 0 };
}

static enum err_code reserve_threads(struct thread_cpus *cpus, thread_id thread)
{
    if (thread < cpus->count)
        return ERR_OK;
    const size_t before = cpus->count;
    if (!VEC_RESERVE(cpus->items, cpus->count, (size_t)thread + 1))
        return ERR_NOMEM;
    memset(cpus->items + before, 0, (cpus->count - before) * sizeof *cpus->items);
    return ERR_OK;
}

/* A meter keeps two files open. */
enum { LEAVE_FILES = 6 };

static void open_meter(struct thread_cpu *thread_cpu, uint64_t now_ns)
{
    thread_cpu->has_meter =
        open_files_are_left(LEAVE_FILES) &&
        cpu_meter_open(&thread_cpu->meter, thread_cpu->pid, thread_cpu->tid);
    thread_cpu->is_metered = thread_cpu->is_watched = false;
    thread_cpu->opened_ns = thread_cpu->metered_ns = thread_cpu->queue.asked_ns = now_ns;
}

/* Does the thread run?  false: unknown.  Its files are those of a thread that has ended where another one got its number,
 * and with it its row: then they are opened again. */
static bool ask_kernel(struct thread_cpu *thread_cpu, bool *runs_out,
                       struct system_call *call_out)
{
    const int pid = thread_cpu->pid, tid = thread_cpu->tid;
    if (thread_cpu->has_meter) {
        if (cpu_meter_is_runnable(&thread_cpu->meter, pid, tid, runs_out, call_out))
            return true;
        cpu_meter_close(&thread_cpu->meter);
        thread_cpu->has_meter = false;
    }
    if (!tid || thread_cpu->used_ns < thread_cpu->opened_ns + OPEN_AGAIN_NS)
        return false;
    open_meter(thread_cpu, thread_cpu->used_ns);
    return thread_cpu->has_meter &&
           cpu_meter_is_runnable(&thread_cpu->meter, pid, tid, runs_out, call_out);
}

static bool keeps_state(enum session_mode mode, state_bits state)
{
    switch (mode) {
    case SESSION_MODE_WALL: break;
    case SESSION_MODE_CPU: return part_of(state, WAIT_UNKNOWN) == PART_RUNNING;
    case SESSION_MODE_GIL: return state & (STATE_HAS_GIL | STATE_UNKNOWN_HAS_GIL);
    case SESSION_MODE_EXCEPTION:
        return state & (STATE_HAS_EXCEPTION | STATE_UNKNOWN_HAS_EXCEPTION);
    }
    return true;
}

bool thread_cpus_may_keep(const struct thread_cpus *cpus, state_bits state)
{
    return keeps_state(cpus->mode, (state_bits)(state | STATE_UNKNOWN_ON_CPU));
}

/* is_still: the stack has not changed since that was found last. */
static void find_wait(const struct thread_cpus *cpus, struct thread_cpu *thread_cpu,
                      const struct sample *sample, const struct system_call *call,
                      bool is_still)
{
    thread_wait_find(&thread_cpu->wait, cpus->waits, sample, call, is_still,
                     keeps_state(cpus->mode, sample->state));
}

/* Samples [first, first + count) of the waiting ones. */
struct share {
    uint32_t first, count, waited;
};

static bool is_same_native(const struct native_outcome *a, const struct native_outcome *b)
{
    return a->counter == b->counter && a->gap == b->gap && a->entries == b->entries &&
           a->placed == b->placed && a->at_gpu == b->at_gpu;
}

/* The whole state.  Where the interpreter does not say whether a thread waits for the GIL, the kernel does.  A thread that waits for the GPU
 * has a processor only to ask whether it may go on. */
static state_bits state_of(const struct thread_cpu *thread_cpu, state_bits cpu)
{
    const unsigned state = thread_cpu->state | (thread_cpu->native.at_gpu ? 0u : (unsigned)cpu);
    if (!(state & STATE_UNKNOWN_WAITS_GIL))
        return (state_bits)state;
    /* A thread that waits for it wakes up every few milliseconds, and goes on waiting. */
    const bool is_ready = cpu & (STATE_ON_CPU | STATE_RUNNABLE);
    const enum three_valued at_gil = thread_cpu->wait.at_gil;
    const enum three_valued waits = is_ready && at_gil != VALUE_YES ? VALUE_NO : at_gil;
    const unsigned known = state & ~(unsigned)STATE_UNKNOWN_WAITS_GIL;
    return (state_bits)(waits == VALUE_UNKNOWN ? state
                        : waits == VALUE_YES   ? known | STATE_WAITS_GIL
                                               : known);
}

static enum err_code count_samples(struct thread_cpus *cpus, thread_id thread,
                                   struct thread_cpu *thread_cpu, state_bits cpu,
                                   struct share share)
{
    struct quality *const quality = profile_quality(cpus->profile);
    const state_bits state = state_of(thread_cpu, cpu);
    const uint32_t samples = share.count;
    if (!samples)
        return ERR_OK;
    if (!keeps_state(cpus->mode, state)) {
        quality->filtered += samples;
        return ERR_OK;
    }
    wait_id wait = thread_cpu->is_open
                       ? thread_wait_mark(&thread_cpu->wait, cpus->waits, state,
                                          thread_cpu->in_request, samples, thread_cpu->used_ns)
                       : 0;
    if (thread_cpu->native.at_gpu && cpus->waits &&
        part_of(state, WAIT_UNKNOWN) == PART_BLOCKED)
        wait = waits_plain(cpus->waits, WAIT_GPU);
    const node_id node =
        wait ? waits_node(cpus->waits, wait, thread_cpu->node) : thread_cpu->node;
    const bool has_mark = node != thread_cpu->node;
    enum err_code rc = profile_add(cpus->profile, thread, state, node, samples, NULL);
    if (!rc && thread_cpu->spot != PROFILE_NO_SPOT)
        rc = profile_add_spot(cpus->profile, thread_cpu->spot_node, thread_cpu->spot, samples,
                              NULL);
    if (!rc) {
        /* The samples were taken evenly spread between the first and the last. */
        const uint64_t span_ns = thread_cpu->used_ns - thread_cpu->since_ns;
        const uint64_t step_ns = share.waited > 1 ? span_ns / (share.waited - 1) : 0;
        const struct run run = { .thread = thread,
                                 .lacks_native = thread_cpu->native.counter ==
                                                 &profile_quality(cpus->profile)->native_none,
                                 .node = node,
                                 .spot_node = thread_cpu->spot_node,
                                 .spot = thread_cpu->spot,
                                 .count = share.count,
                                 .state = state,
                                 .first_ns = thread_cpu->since_ns - cpus->created_ns +
                                             share.first * step_ns,
                                 .step_ns = step_ns };
        profile_order(cpus->profile, &run);
        if (cpus->sink)
            cpus->sink->count(cpus->sink->context, &run);

        /* Waiting tasks have no account, and are in no part. */
        if (thread_cpu->is_open)
            profile_tick(
                cpus->profile, thread_cpu->since_ns - cpus->created_ns,
                thread_cpu->used_ns - cpus->created_ns,
                part_of(state, has_mark ? waits_cause_of(cpus->waits, wait) : WAIT_UNKNOWN),
                samples);
        quality->overflowed += thread_cpu->is_overflowed ? samples : 0;
        quality->unmatched += thread_cpu->is_open && !thread_cpu->tid ? samples : 0;
        quality->samples += samples;
        *thread_cpu->certainty += samples;
        if (thread_cpu->motion)
            *thread_cpu->motion += samples;
        if (thread_cpu->native.counter) {
            const struct native_outcome *const native = &thread_cpu->native;
            *native->counter += samples;
            if (native->gap)
                *native->gap += samples;
            quality->native_entries += (uint64_t)native->entries * samples;
            quality->native_placed += (uint64_t)native->placed * samples;
        }
    }
    return rc;
}

/* The account's numbers for the time since it was read before. */
struct account {
    double share; /* of it, on a CPU */
    uint64_t queued_ns;
};

/* Reads the account; false: it cannot be read. */
static bool read_account(struct thread_cpu *thread_cpu, uint64_t now_ns, struct account *out)
{
    uint64_t ran_ns;
    if (!thread_cpu->has_meter || !cpu_meter_read(&thread_cpu->meter, &ran_ns, &out->queued_ns))
        return false;
    thread_queue_note(&thread_cpu->queue, out->queued_ns, now_ns);
    /* The time that a thread that had slept ran after the last sample that waits belongs to its
     * next sample. */
    const uint64_t tail_ns = thread_cpu->was_runnable ? 0 : now_ns - thread_cpu->used_ns;
    const uint64_t end_ns = now_ns - tail_ns;
    const uint64_t elapsed_ns =
        end_ns > thread_cpu->metered_ns ? end_ns - thread_cpu->metered_ns : 1;
    const double share = ran_ns > tail_ns ? (double)(ran_ns - tail_ns) / (double)elapsed_ns : 0;
    thread_cpu->metered_ns = now_ns;
    out->share = share > 1 ? 1 : share;
    return true;
}

/* The samples on a CPU, by the share of time that the thread ran; a fraction of a sample is owed
 * to the next division. */
static uint32_t running_part(struct thread_cpu *thread_cpu, double share, uint32_t waiting)
{
    const double due = share * waiting + thread_cpu->owed;
    const uint32_t running = due >= waiting ? waiting : due > 0 ? (uint32_t)(due + 0.5) : 0;
    thread_cpu->owed = due - running;
    return running;
}

/* The mean time that a sample stands for: with missed ticks, that is more than a period. */
static uint64_t mean_step_ns(const struct thread_cpu *thread_cpu)
{
    const uint64_t span_ns = thread_cpu->used_ns - thread_cpu->first_ns;
    const uint64_t mean_ns = thread_cpu->taken ? span_ns / thread_cpu->taken : 0;
    return mean_ns ? mean_ns : 1;
}

/* NULL: the thread cannot be asked. */
static struct cpu_meter *meter_of(struct thread_cpu *thread_cpu)
{
    return thread_cpu->has_meter ? &thread_cpu->meter : NULL;
}

/* Counts the first `running` samples as on a CPU, `queued` as ready to run, and the others as waiting. */
static enum err_code count_parts(struct thread_cpus *cpus, thread_id thread,
                                 struct thread_cpu *thread_cpu, struct share share,
                                 uint32_t running, uint32_t queued)
{
    const uint32_t waiting = share.count - running - queued;
    const struct share on = { share.first, running, share.waited };
    const struct share ready = { share.first + running, queued, share.waited };
    const struct share off = { share.first + running + queued, waiting, share.waited };
    enum err_code rc = count_samples(cpus, thread, thread_cpu, STATE_ON_CPU, on);
    if (!rc)
        rc = count_samples(cpus, thread, thread_cpu, STATE_RUNNABLE, ready);
    return rc ? rc : count_samples(cpus, thread, thread_cpu, 0, off);
}

/* Counts samples of a thread that was on a CPU or runnable. */
static enum err_code count_ready(struct thread_cpus *cpus, thread_id thread,
                                 struct thread_cpu *thread_cpu, struct share share)
{
    if (!thread_cpu->queue.is_known)
        return count_samples(cpus, thread, thread_cpu, ON_CPU_OR_RUNNABLE, share);
    const uint32_t queued =
        thread_queue_take(&thread_cpu->queue.queued_ns, mean_step_ns(thread_cpu), share.count);
    return count_parts(cpus, thread, thread_cpu, share, share.count - queued, queued);
}

/* Counts the waiting samples. */
static enum err_code settle_account(struct thread_cpus *cpus, thread_id thread, uint64_t now_ns)
{
    struct thread_cpu *const thread_cpu = &cpus->items[thread];
    const uint32_t waiting = thread_cpu->waiting, ready = thread_cpu->ready;
    struct account account;
    thread_cpu->waiting = thread_cpu->ready = 0;
    if (!waiting)
        return ERR_OK;
    if (!thread_cpu->is_metered)
        return count_samples(cpus, thread, thread_cpu, NOTHING_KNOWN,
                             (struct share){ 0, waiting, waiting });
    const struct share all = { 0, waiting, waiting };
    if (now_ns - thread_cpu->metered_ns >= THREAD_QUEUE_ACCOUNT_NS &&
        read_account(thread_cpu, now_ns, &account)) {
        /* Earlier time that the thread was without a processor is of samples that moved. */
        const uint32_t running = running_part(thread_cpu, account.share, waiting);
        const uint32_t queued =
            thread_queue_take(&account.queued_ns, mean_step_ns(thread_cpu), waiting - running);
        thread_queue_add(&thread_cpu->queue, account.queued_ns);
        return count_parts(cpus, thread, thread_cpu, all, running, queued);
    }
    if (!ready)
        return count_samples(cpus, thread, thread_cpu, 0, all);
    thread_queue_read(&thread_cpu->queue, meter_of(thread_cpu), now_ns);
    const struct share on = { 0, ready, waiting }, off = { ready, waiting - ready, waiting };
    const enum err_code rc = count_ready(cpus, thread, thread_cpu, on);
    return rc ? rc : count_samples(cpus, thread, thread_cpu, 0, off);
}

static bool is_runnable(struct thread_cpu *thread_cpu, bool *out, struct system_call *call_out)
{
    const bool is_known = ask_kernel(thread_cpu, out, call_out);
    thread_cpu->ran_ns = is_known && *out ? thread_cpu->used_ns : 0;
    return is_known;
}

enum three_valued thread_cpus_ask(struct thread_cpus *cpus, thread_id thread, int pid,
                                  int32_t tid, struct system_call *call_out)
{
    struct thread_cpu *const thread_cpu = thread < cpus->count ? &cpus->items[thread] : NULL;
    struct cpu_meter own;
    bool runs, is_known = false;
    if (thread_cpu && thread_cpu->is_open) {
        is_known = ask_kernel(thread_cpu, &runs, call_out);
    } else if (cpu_meter_open(&own, pid, tid)) {
        is_known = cpu_meter_is_runnable(&own, pid, tid, &runs, call_out);
        cpu_meter_close(&own);
    }
    return !is_known ? VALUE_UNKNOWN : runs ? VALUE_YES : VALUE_NO;
}

/* The account of a thread that does not run is up to date. */
bool thread_cpus_sleeps(struct thread_cpus *cpus, thread_id thread,
                        struct system_call *call_out)
{
    struct thread_cpu *const thread_cpu = thread < cpus->count ? &cpus->items[thread] : NULL;
    uint64_t ran_ns, queued_ns;
    bool is_ready;
    if (!thread_cpu || !thread_cpu->is_open || !ask_kernel(thread_cpu, &is_ready, call_out) ||
        is_ready || !call_out->is_known || !call_out->sp)
        return false;
    struct cpu_meter watched = thread_cpu->meter;
    watched.run_ns = thread_cpu->watched_ns;
    if (!cpu_meter_read(&watched, &ran_ns, &queued_ns))
        return false;
    const bool has_slept = thread_cpu->is_watched && ran_ns == 0;
    thread_cpu->watched_ns = watched.run_ns;
    thread_cpu->is_watched = true;
    return has_slept;
}

static struct thread_cpu *find_metered(const struct thread_cpus *cpus, thread_id thread)
{
    struct thread_cpu *const thread_cpu = thread < cpus->count ? &cpus->items[thread] : NULL;
    return thread_cpu && thread_cpu->is_open && thread_cpu->has_meter ? thread_cpu : NULL;
}

bool thread_cpus_is_crowded(const struct thread_cpus *cpus, thread_id thread, uint64_t now_ns)
{
    const struct thread_cpu *const thread_cpu = find_metered(cpus, thread);
    return thread_cpu && thread_queue_is_crowded(&thread_cpu->queue, now_ns);
}

void thread_cpus_note_hold(struct thread_cpus *cpus, thread_id thread, uint64_t held_ns)
{
    struct thread_cpu *const thread_cpu = find_metered(cpus, thread);
    if (thread_cpu)
        thread_cpu->queue.held_ns += held_ns;
}

bool thread_cpus_processor(struct thread_cpus *cpus, thread_id thread, int *processor_out)
{
    struct thread_cpu *const thread_cpu = find_metered(cpus, thread);
    return thread_cpu && cpu_processor_of(thread_cpu->pid, thread_cpu->tid, processor_out);
}

uint64_t thread_cpus_arrivals(const struct thread_cpus *cpus, thread_id thread)
{
    const struct thread_cpu *const thread_cpu = find_metered(cpus, thread);
    return thread_cpu ? cpu_meter_arrivals(&thread_cpu->meter) : 0;
}

node_id thread_cpus_node(const struct thread_cpus *cpus, thread_id thread)
{
    return thread < cpus->count ? cpus->items[thread].node : 0;
}

/* Counts samples by thread_cpu->cpu; what is on a CPU or runnable is divided. */
static enum err_code count_as_known(struct thread_cpus *cpus, thread_id thread,
                                    struct thread_cpu *thread_cpu, uint64_t now_ns,
                                    struct share share)
{
    if (thread_cpu->cpu != ON_CPU_OR_RUNNABLE)
        return count_samples(cpus, thread, thread_cpu, thread_cpu->cpu, share);
    if (thread_queue_is_crowded(&thread_cpu->queue, now_ns)) {
        /* Counts samples of a thread that is ready, and lacks a processor often: as many as it has run since its account was read are on a
         * CPU.  The account of one that is held is up to date. */
        uint64_t ran_ns, queued_ns;
        if (!thread_cpu->has_meter || !cpu_meter_read(&thread_cpu->meter, &ran_ns, &queued_ns))
            return count_ready(cpus, thread, thread_cpu, share);
        const double step_ns = (double)mean_step_ns(thread_cpu);
        thread_queue_note(&thread_cpu->queue, queued_ns, now_ns);
        thread_cpu->metered_ns = thread_cpu->queue.asked_ns = now_ns;
        thread_cpu->queue.queued_ns = 0;
        thread_cpu->queue.is_known = true;
        const uint32_t running =
            running_part(thread_cpu, (double)ran_ns / step_ns / share.count, share.count);
        /* The account of a thread that runs may be late by so much. */
        thread_cpu->owed =
            fmin(thread_cpu->owed, 1 + (double)THREAD_QUEUE_ACCOUNT_NS / step_ns);
        return count_parts(cpus, thread, thread_cpu, share, running, share.count - running);
    }
    thread_queue_read_at_times(&thread_cpu->queue, meter_of(thread_cpu), now_ns);
    return count_ready(cpus, thread, thread_cpu, share);
}

/* Counts one sample of a thread that moves. */
static enum err_code count_moving(struct thread_cpus *cpus, const struct sample *sample)
{
    struct thread_cpu *const thread_cpu = &cpus->items[sample->thread];
    const struct share all = { 0, sample->times, sample->times };
    struct system_call call = { 0 };
    bool runnable = true;
    const bool is_fresh =
        thread_cpu->ran_ns && thread_cpu->used_ns - thread_cpu->ran_ns < THREAD_CPUS_FRESH_NS;
    thread_cpu->is_metered = false;
    thread_cpu->cpu = NOTHING_KNOWN;
    if (is_fresh || is_runnable(thread_cpu, &runnable, &call))
        thread_cpu->cpu = runnable ? ON_CPU_OR_RUNNABLE : 0;
    find_wait(cpus, thread_cpu, sample, &call, false);
    return count_as_known(cpus, sample->thread, thread_cpu, thread_cpu->used_ns, all);
}

/* Lets a sample of a thread that does not move wait. */
static void add_waiting(struct thread_cpus *cpus, struct thread_cpu *thread_cpu,
                        const struct sample *sample)
{
    const bool is_first = !thread_cpu->waiting;
    struct system_call call = { 0 };
    struct account before;
    thread_cpu->waiting += sample->times;
    /* It is asked until the account says it.  Of a thread that runs now and then, some samples find it waiting. */
    const bool is_early = sample->now_ns - thread_cpu->metered_ns < THREAD_QUEUE_ACCOUNT_NS;
    const bool lacks_wait =
        !thread_cpu->wait.mark && (thread_cpu->waiting & (thread_cpu->waiting - 1)) == 0;
    /* Nothing is known of a thread that has ended, but of one that got its number. */
    const bool begins = is_first || !thread_cpu->is_metered;
    if (!begins && thread_cpu->was_runnable && (is_early || lacks_wait) &&
        is_runnable(thread_cpu, &thread_cpu->is_runnable, &call))
        find_wait(cpus, thread_cpu, sample, &call, true);
    if (begins) {
        const bool known = is_runnable(thread_cpu, &thread_cpu->was_runnable, &call);
        thread_cpu->is_runnable = thread_cpu->was_runnable;
        if (!thread_cpu->is_metered && known &&
            read_account(thread_cpu, sample->now_ns, &before)) {
            thread_cpu->is_metered = true;
            thread_queue_add(&thread_cpu->queue, before.queued_ns);
        }
        find_wait(cpus, thread_cpu, sample, &call, true);
    }
    thread_cpu->ready += thread_cpu->is_runnable ? sample->times : 0;
}

enum err_code thread_cpus_add(struct thread_cpus *cpus, const struct sample *sample)
{
    enum err_code rc = reserve_threads(cpus, sample->thread);
    if (rc)
        return rc;
    struct thread_cpu *const thread_cpu = &cpus->items[sample->thread];
    if (!thread_cpu->is_open) {
        thread_cpu->is_open = true;
        thread_cpu->pid = sample->pid;
        thread_cpu->tid = sample->tid;
        open_meter(thread_cpu, sample->now_ns);
    }
    const bool same = sample->is_still && thread_cpu->node == sample->node &&
                      thread_cpu->spot == sample->spot && thread_cpu->state == sample->state &&
                      thread_cpu->certainty == sample->certainty &&
                      is_same_native(&thread_cpu->native, &sample->native) &&
                      thread_cpu->is_overflowed == sample->is_overflowed;
    if (!same || sample->is_asked || thread_cpu->waiting >= THREAD_CPUS_MAX_WAITING)
        rc = settle_account(cpus, sample->thread, sample->now_ns);
    if (thread_cpu->first_ns == 0)
        thread_cpu->first_ns = sample->now_ns;
    else
        thread_cpu->taken += sample->times;
    thread_cpu->node = sample->node;
    thread_cpu->spot_node = sample->spot_node;
    thread_cpu->spot = sample->spot;
    thread_cpu->state = sample->state;
    thread_cpu->certainty = sample->certainty;
    thread_cpu->motion = sample->motion;
    thread_cpu->native = sample->native;
    thread_cpu->is_overflowed = sample->is_overflowed;
    thread_cpu->in_request = sample->in_request;
    thread_cpu->used_ns = sample->now_ns;
    if (!thread_cpu->waiting)
        thread_cpu->since_ns = sample->times > 1 ? sample->since_ns : sample->now_ns;
    thread_cpu->has_waited = same && !sample->is_asked;
    if (rc)
        return rc;
    if (sample->is_asked) {
        /* A stopped thread does not run, so its account shows nothing. */
        const struct share all = { 0, sample->times, sample->times };
        thread_cpu->is_metered = false;
        thread_cpu->cpu = sample->runs == VALUE_UNKNOWN   ? NOTHING_KNOWN
                          : sample->runs == VALUE_NO      ? 0
                          : sample->runnable == VALUE_YES ? STATE_RUNNABLE
                          : sample->runnable == VALUE_NO  ? STATE_ON_CPU
                                                          : ON_CPU_OR_RUNNABLE;
        find_wait(cpus, thread_cpu, sample, &sample->call, same);
        return count_as_known(cpus, sample->thread, thread_cpu, sample->now_ns, all);
    }
    if (!same)
        return count_moving(cpus, sample);
    add_waiting(cpus, thread_cpu, sample);
    return ERR_OK;
}

enum err_code thread_cpus_add_waiting(struct thread_cpus *cpus, const struct sample *sample,
                                      uint32_t samples, uint64_t since_ns)
{
    struct thread_cpu thread_cpu = { .node = sample->node,
                                     .spot = sample->spot,
                                     .state = sample->state,
                                     .certainty = sample->certainty,
                                     .is_overflowed = sample->is_overflowed,
                                     .since_ns = since_ns,
                                     .used_ns = sample->now_ns };
    return count_samples(cpus, sample->thread, &thread_cpu, 0,
                         (struct share){ 0, samples, samples });
}

enum err_code thread_cpus_repeat(struct thread_cpus *cpus, const struct repetition *repetition)
{
    struct quality *const quality = profile_quality(cpus->profile);
    const uint32_t times = (uint32_t)(repetition->ticks * repetition->weight + 0.5);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < cpus->count && !rc; i++) {
        struct thread_cpu *const thread_cpu = &cpus->items[i];
        if (!thread_cpu->is_open || thread_cpu->pid != repetition->pid ||
            thread_cpu->used_ns < repetition->sampled_ns ||
            thread_cpu->used_ns >= repetition->first_ns)
            continue;
        if (!thread_cpu->waiting)
            thread_cpu->since_ns = repetition->first_ns;
        thread_cpu->used_ns = repetition->last_ns;
        thread_cpu->taken += times;
        quality->extrapolated += times - repetition->ticks;
        if (!thread_cpu->has_waited)
            rc = count_as_known(cpus, (thread_id)i, thread_cpu, repetition->last_ns,
                                (struct share){ 0, times, times });
        else
            thread_cpu->waiting += times;
        if (thread_cpu->has_waited && thread_cpu->is_runnable)
            thread_cpu->ready += times;
    }
    return rc;
}

enum err_code thread_cpus_flush(struct thread_cpus *cpus, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < cpus->count && !rc; i++) {
        struct thread_cpu *const thread_cpu = &cpus->items[i];
        if (!thread_cpu->is_open)
            continue;
        rc = settle_account(cpus, (thread_id)i, now_ns);
        if (now_ns - thread_cpu->used_ns > THREAD_CPUS_IDLE_NS)
            close_cpu(thread_cpu);
    }
    return rc;
}

enum err_code thread_cpus_drop(struct thread_cpus *cpus, int pid, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < cpus->count; i++) {
        struct thread_cpu *const thread_cpu = &cpus->items[i];
        if (!thread_cpu->is_open || thread_cpu->pid != pid)
            continue;
        if (!rc)
            rc = settle_account(cpus, (thread_id)i, now_ns);
        close_cpu(thread_cpu);
    }
    return rc;
}
