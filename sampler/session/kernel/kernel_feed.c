#include "sampler/session/kernel/kernel_feed.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/copy_memory.h"
#include "sampler/profile/quality.h"
#include "sampler/session/kernel/kernel_absence.h"
#include "sampler/session/kernel/kernel_events.h"
#include "sampler/session/kernel/kernel_reading.h"
#include "sampler/session/target.h"

/* How often the lists of threads are compared with the interpreter's, if nothing else calls for it. */
static const uint64_t LIST_AGAIN_NS = NS_PER_S;
/* A thread that is ready to run gets a processor in this time. */
static const uint64_t MAX_STARVED_NS = 2 * NS_PER_S;

/* Until a thread is known for so long, it is counted at each drain while the engine has not seen it. */
static const uint64_t FIRST_NS = 500 * NS_PER_MS;
enum { MAX_FIRST_SLEEPERS = 256 };
/* Threads of unknown number of a target that a drain reads. */
enum { MAX_UNKNOWN = 64 };
/* Waking up costs more than taking a few records, and the program calls where this would be too late. */
static const double DRAIN_HZ = 10, FIRST_DRAIN_HZ = 100;
/* The program may call as often as the target wants it to. */
static const uint64_t MIN_DRAIN_NS = 10 * NS_PER_MS;
/* Native stacks that are deep fill the ring buffer much sooner. */
static const uint64_t MIN_FILLING_DRAIN_NS = NS_PER_MS;
/* Records that are only counted come faster than they are made. */
enum { MAX_LAST_DRAINS = 10 };

enum err_code kernel_feed_create(struct kernel *kernel, measure_set measures,
                                 struct kernel_paths *paths, struct kernel_feed **out,
                                 struct err *err)
{
    struct kernel_feed *const feed = calloc(1, sizeof *feed);
    if (!feed) {
        kernel_paths_destroy(paths);
        return err_nomem(err);
    }
    feed->kernel = kernel;
    feed->paths = paths;
    feed->measures = measures;
    feed->begun_ns = feed->ticked_ns = feed->lost_ns = feed->switches_since_ns = clock_now_ns();
    feed->switch_gap = 1;
    copy_memory_init(&feed->stacks.copy);
    kernel_threads_init(&feed->threads, kernel);
    random_init_any(&feed->random);
    *out = feed;
    return ERR_OK;
}

void kernel_feed_destroy(struct kernel_feed *feed)
{
    if (!feed)
        return;
    kernel_threads_deinit(&feed->threads);
    native_copies_deinit(&feed->waiting);
    kernel_paths_destroy(feed->paths);
    free(feed);
}

enum err_code kernel_feed_add(struct kernel_feed *feed, struct target *target, struct err *err)
{
    return kernel_threads_add(&feed->threads, target, err);
}

enum err_code kernel_feed_remove(struct kernel_feed *feed, struct target *target)
{
    const enum err_code rc =
        feed->is_paused ? ERR_OK : kernel_losses_count(feed, clock_now_ns());
    kernel_threads_remove(&feed->threads, target);
    return rc;
}

static enum err_code leave_feed(struct kernel_feed *feed, struct fed_thread *fed,
                                const struct kernel_record *record, const void *spans)
{
    kernel_path_id in_kernel;
    enum err_code rc = kernel_paths_find(feed->paths, record, spans, &in_kernel);
    if (!rc)
        rc = kernel_stack_keep(&feed->stacks, &fed->stack, fed->current, record, spans);
    if (rc && rc != ERR_GONE)
        return rc;
    if (rc == ERR_GONE)
        kernel_forget(feed->kernel);
    kernel_absence_begin(feed, fed, record, in_kernel, rc == ERR_GONE);
    return ERR_OK;
}

/* The record describes a code object: its first span.  What is too long for it is read from the process,
 * where the object may be gone by now. */
static enum err_code learn_code(struct kernel_feed *feed, const struct kernel_record *record,
                                const void *spans)
{
    struct fed_target *const fed = kernel_threads_find_target(&feed->threads, record->pid);
    struct python *const python = fed ? fed->target->python : NULL;
    if (!fed)
        return ERR_OK;
    if (copy_memory_show(&feed->stacks.copy, spans, record->bytes) || !feed->stacks.copy.count)
        return feed->stacks.damaged++, ERR_OK;
    const remote_addr addr = feed->stacks.copy.spans[0].addr;
    feed->stacks.copy.memory.guard = fed->target->process.memory.memory.guard;
    copy_memory_complete(&feed->stacks.copy, &fed->target->process.memory.memory);
    const enum err_code rc = python_learn_code(python, &feed->stacks.copy.memory, addr);
    if (!rc && feed->stacks.copy.process_reads)
        (void)python_check_code(python, addr);
    return rc == ERR_NOMEM ? rc : ERR_OK;
}

/* Does it stand for pages, and for no time? */
static bool has_pages(const struct kernel_record *record)
{
    return record->kind == KERNEL_FAULT || record->kind == KERNEL_COPY ||
           record->kind == KERNEL_FREE;
}

static bool has_stack(const struct kernel_record *record)
{
    return record->kind == KERNEL_TICK || record->kind == KERNEL_LEFT || has_pages(record);
}

static enum err_code skip_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    struct kernel_feed *const feed = context;
    feed->seen_ns = kernel_absence_later(feed->seen_ns, record->time_ns);
    if (record->kind == KERNEL_CODE)
        return learn_code(feed, record, spans);
    struct fed_thread *const fed = kernel_threads_find(&feed->threads, record);
    if (!fed || record->kind == KERNEL_UNKNOWN)
        return ERR_OK;
    fed->has_moved = true;
    fed->left_ns = 0;
    if (has_stack(record) && kernel_threads_enter(fed, record))
        return ERR_NOMEM;
    if (record->kind == KERNEL_LEFT)
        return leave_feed(feed, fed, record, spans);
    /* Later records may repeat its stack. */
    const enum err_code rc =
        record->kind == KERNEL_TICK || has_pages(record)
            ? kernel_stack_keep(&feed->stacks, &fed->stack, fed->current, record, spans)
            : ERR_OK;
    if (rc == ERR_GONE)
        kernel_forget(feed->kernel);
    return rc == ERR_GONE ? ERR_OK : rc;
}

/* The number of the record's instants since the session began. */
static uint32_t instants_of(const struct kernel_feed *feed, const struct kernel_record *record)
{
    const uint64_t most =
        (record->time_ns - feed->begun_ns) / kernel_period_ns(feed->kernel) + 1;
    return record->instants < most ? record->instants : (uint32_t)most;
}

static struct kernel_instants tick_of(const struct kernel_feed *feed,
                                      const struct kernel_record *record)
{
    return (struct kernel_instants){ .since_ns = record->time_ns,
                                     .until_ns = record->time_ns,
                                     .times = instants_of(feed, record),
                                     .runs = VALUE_YES,
                                     .runnable = VALUE_NO };
}

static enum err_code count_tick(struct kernel_feed *feed, struct fed_thread *fed,
                                const struct kernel_record *record, const void *spans)
{
    const struct kernel_instants instants = tick_of(feed, record);
    kernel_absence_end(feed, fed);
    return kernel_events_count_record(feed, fed, record, spans, instants);
}

static bool counts_time(const struct kernel_feed *feed)
{
    return measure_set_has(feed->measures, MEASURE_TIME);
}

static enum err_code take_record(void *context, const struct kernel_record *record,
                                 const void *spans)
{
    struct kernel_feed *const feed = context;
    feed->seen_ns = kernel_absence_later(feed->seen_ns, record->time_ns);
    if (record->kind == KERNEL_CODE)
        return learn_code(feed, record, spans);
    if (record->kind == KERNEL_UNKNOWN) {
        struct fed_target *const target =
            kernel_threads_find_target(&feed->threads, record->pid);
        struct fed_thread *const known = kernel_threads_find(&feed->threads, record);
        /* It has ended, and a new one has its number. */
        if (known)
            known->tstate = 0;
        if (target)
            target->is_old = true;
        return ERR_OK;
    }
    struct fed_thread *const fed = kernel_threads_find(&feed->threads, record);
    if (!fed)
        return ERR_OK;
    if (record->time_ns < feed->begun_ns)
        return skip_record(feed, record, spans);
    /* It slept, or waited for a processor, from its listing or the last flush on; nobody knows where. */
    if (!fed->has_moved && counts_time(feed) &&
        record->time_ns > fed->counted_ns + kernel_min_away_ns(feed->kernel)) {
        feed->missed += kernel_absence_instants(feed, record->time_ns - fed->counted_ns);
        fed->counted_ns = record->time_ns;
    }
    fed->has_moved = true;
    if (has_stack(record) && kernel_threads_enter(fed, record))
        return ERR_NOMEM;
    switch (record->kind) {
    case KERNEL_TICK: return count_tick(feed, fed, record, spans);
    case KERNEL_LEFT: {
        const enum err_code rc = leave_feed(feed, fed, record, spans);
        return rc || !measure_set_has(feed->measures, MEASURE_CONTEXT_SWITCHES)
                   ? rc
                   : kernel_events_count_switch(feed, fed, record);
    }
    case KERNEL_RETURNED:
        if (counts_time(feed))
            return kernel_absence_come_back(feed, fed, record);
        fed->left_ns = 0;
        return ERR_OK;
    case KERNEL_FAULT:
    case KERNEL_COPY:
    case KERNEL_FREE: return kernel_events_count_pages(feed, fed, record, spans);
    default: return ERR_OK;
    }
}

/* Counts a record without reading its stack. */
static enum err_code count_unread(void *context, const struct kernel_record *record,
                                  const void *spans)
{
    struct kernel_feed *const feed = context;
    struct fed_thread *const fed = kernel_threads_find(&feed->threads, record);
    feed->seen_ns = kernel_absence_later(feed->seen_ns, record->time_ns);
    (void)spans;
    if (!fed || record->kind == KERNEL_UNKNOWN || record->kind == KERNEL_CODE ||
        record->time_ns < feed->begun_ns)
        return ERR_OK;
    fed->has_moved = true;
    if (has_pages(record))
        return kernel_events_count_pages(feed, fed, record, NULL);
    if (record->kind == KERNEL_RETURNED)
        return counts_time(feed) ? kernel_absence_come_back(feed, fed, record) : ERR_OK;
    if (record->kind == KERNEL_LEFT) {
        kernel_absence_begin(feed, fed, record, 0, true);
        return measure_set_has(feed->measures, MEASURE_CONTEXT_SWITCHES)
                   ? kernel_events_count_switch(feed, fed, record)
                   : ERR_OK;
    }
    const struct kernel_instants instants = tick_of(feed, record);
    kernel_absence_end(feed, fed);
    return kernel_absence_count_unseen(fed, &instants);
}

/* A thread that the engine has not seen yet: it has slept since before it was added, or, on a busy host, has
 * had no processor yet. */
static enum err_code count_sleeper(struct kernel_feed *feed, struct fed_thread *fed,
                                   uint64_t now_ns)
{
    const uint64_t since_ns = fed->counted_ns;
    if (now_ns <= since_ns)
        return ERR_OK;
    /* It has not moved since it was asked where it waits. */
    const bool is_young = now_ns - fed->listed_ns < MAX_STARVED_NS;
    const bool is_ready = (is_young || !fed->call.is_known) &&
                          kernel_reading_is_ready(fed->target, fed->thread, &fed->call) &&
                          is_young;
    const struct kernel_instants instants = {
        .since_ns = since_ns,
        .until_ns = now_ns,
        .times = kernel_absence_instants(feed, now_ns - since_ns),
        .runs = is_ready ? VALUE_YES : VALUE_NO,
        .runnable = is_ready ? VALUE_YES : VALUE_NO,
        .call = fed->call,
    };
    fed->counted_ns = now_ns;
    const enum err_code rc = instants.times ? kernel_reading_wait(fed->target, fed->thread,
                                                                  &feed->waiting, &instants)
                                            : ERR_OK;
    return rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
}

static bool is_first_sleeper(const struct kernel_feed *feed, const struct fed_thread *fed,
                             uint64_t now_ns)
{
    return !fed->has_moved &&
           now_ns < kernel_absence_later(feed->begun_ns, fed->listed_ns) + FIRST_NS;
}

/* If a first sleeper wakes up before the next flush, what it did until then is known. */
static enum err_code count_first_sleepers(struct kernel_feed *feed, uint64_t now_ns)
{
    enum err_code rc = ERR_OK;
    if (!counts_time(feed) || feed->threads.count > MAX_FIRST_SLEEPERS)
        return ERR_OK;
    for (size_t i = 0; i < feed->threads.count && !rc; i++)
        if (is_first_sleeper(feed, &feed->threads.items[i], now_ns))
            rc = count_sleeper(feed, &feed->threads.items[i], now_ns);
    return rc;
}

/* Reads the threads that the engine cannot know from outside, as they are; of many, a random part that stands for all. */
static enum err_code count_unknown(struct kernel_feed *feed, struct fed_target *fed,
                                   uint64_t now_ns)
{
    struct python *const python = fed->target->python;
    const size_t unknown = python_unknown_threads(python);
    const uint64_t weight = unknown > MAX_UNKNOWN ? unknown / MAX_UNKNOWN : 1;
    const uint64_t since_ns = fed->counted_ns;
    fed->counted_ns = now_ns;
    if (!unknown || now_ns <= since_ns || !counts_time(feed))
        return ERR_OK;
    const struct kernel_instants instants = {
        .since_ns = since_ns,
        .until_ns = now_ns,
        .times = (uint32_t)(kernel_absence_instants(feed, now_ns - since_ns) * weight),
        .runs = VALUE_UNKNOWN,
        .runnable = VALUE_UNKNOWN,
    };
    const struct thread *const main = python_main(python);
    const bool is_all = fed->target->options->all_threads;
    size_t count;
    struct thread *const *const threads = python_threads(python, &count);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && instants.times && !rc; i++) {
        /* Reading one of a thread's states reads all of them. */
        if (threads[i]->host_tid || threads[i]->later || (!is_all && threads[i] != main) ||
            (weight > 1 && random_below(&feed->random, weight)))
            continue;
        rc = kernel_reading_wait(fed->target, threads[i], &feed->waiting, &instants);
        rc = rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
    }
    return rc;
}

enum err_code kernel_feed_drain(struct kernel_feed *feed)
{
    const uint64_t now_ns = clock_now_ns();
    feed->is_paused = false;
    feed->drained_ns = now_ns;
    kernel_events_pace_switches(feed, now_ns);
    for (size_t i = 0; i < feed->threads.target_count; i++)
        kernel_threads_clear_full(&feed->threads, &feed->threads.targets[i]);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < feed->threads.target_count && !rc; i++)
        rc = kernel_threads_update(&feed->threads, &feed->threads.targets[i]);
    if (!rc)
        rc = kernel_drain(feed->kernel, take_record, feed);
    if (feed->stacks.outer_parts.is_missed)
        kernel_forget(feed->kernel);
    feed->stacks.outer_parts.is_missed = false;
    if (!rc)
        rc = count_first_sleepers(feed, now_ns);
    for (size_t i = 0; i < feed->threads.target_count && !rc; i++) {
        struct fed_target *const fed = &feed->threads.targets[i];
        /* A thread enters another interpreter without a sign. */
        const bool is_due =
            fed->is_old || now_ns - fed->listed_ns > LIST_AGAIN_NS ||
            python_interpreters(fed->target->python) > 1 ||
            (python_lends_states(fed->target->python) && !fed->described.lends_states);
        /* Threads that have ended are no longer listed. */
        if (is_due)
            rc = kernel_losses_count(feed, now_ns);
        if (is_due && !rc)
            rc = kernel_threads_list(&feed->threads, fed);
        if (!rc)
            rc = count_unknown(feed, fed, now_ns);
    }
    return rc;
}

double kernel_feed_drain_hz(const struct kernel_feed *feed, uint64_t now_ns)
{
    bool are_first = now_ns < feed->begun_ns + FIRST_NS;
    for (size_t i = 0; i < feed->threads.count && feed->threads.count <= MAX_FIRST_SLEEPERS;
         i++)
        are_first |= is_first_sleeper(feed, &feed->threads.items[i], now_ns);
    return are_first ? FIRST_DRAIN_HZ : DRAIN_HZ;
}

uint64_t kernel_feed_wait(struct kernel_feed *feed, uint64_t until_ns)
{
    if (!kernel_wait(feed->kernel, until_ns))
        return until_ns;
    const uint64_t soon_ns =
        feed->drained_ns +
        (kernel_is_filling(feed->kernel) ? MIN_FILLING_DRAIN_NS : MIN_DRAIN_NS);
    return soon_ns < until_ns ? soon_ns : until_ns;
}

void kernel_feed_skip(struct kernel_feed *feed)
{
    const uint64_t now_ns = clock_now_ns();
    (void)!kernel_drain(feed->kernel, skip_record, feed);
    kernel_losses_skip(feed, now_ns);
    kernel_count(feed->kernel, &feed->counts);
    feed->is_paused = true;
    feed->ticked_ns = feed->drained_ns = now_ns;
    for (size_t i = 0; i < feed->threads.count; i++)
        feed->threads.items[i].counted_ns = now_ns;
    for (size_t i = 0; i < feed->threads.target_count; i++)
        feed->threads.targets[i].counted_ns = now_ns;
}

void kernel_feed_begin(struct kernel_feed *feed)
{
    kernel_feed_skip(feed);
    feed->is_paused = false;
    feed->begun_ns = clock_now_ns();
}

enum err_code kernel_feed_flush(struct kernel_feed *feed, struct quality *quality,
                                uint64_t now_ns, bool is_last)
{
    if (feed->is_paused) {
        kernel_feed_skip(feed);
        return ERR_OK;
    }
    enum err_code rc = kernel_feed_drain(feed);
    for (int i = 0; i < MAX_LAST_DRAINS && is_last && !rc && kernel_is_behind(feed->kernel);
         i++)
        rc = kernel_drain(feed->kernel, count_unread, feed);

    struct kernel_counts counts;
    kernel_count(feed->kernel, &counts);
    quality->failed_fault += counts.faulted - feed->counts.faulted;
    quality->failed_corrupt += feed->stacks.damaged + counts.damaged - feed->counts.damaged;
    quality->missed_ticks += feed->missed;
    quality->taken_ns += counts.taken_ns - feed->counts.taken_ns;
    feed->stacks.damaged = feed->missed = 0;
    feed->counts = counts;

    quality->ticks += kernel_feed_ticks(feed, now_ns);
    for (size_t i = 0; i < feed->threads.count && !rc && counts_time(feed); i++) {
        struct fed_thread *const fed = &feed->threads.items[i];
        if (!fed->has_moved) {
            rc = count_sleeper(feed, fed, now_ns);
        } else if (fed->left_ns && now_ns > fed->counted_ns &&
                   now_ns - fed->left_ns >= kernel_min_away_ns(feed->kernel)) {
            /* It may have come back without a word. */
            if (kernel_left_ns(feed->kernel, fed->tid) != fed->left_ns)
                kernel_absence_end(feed, fed);
            else
                rc = kernel_absence_count(
                    feed, fed, kernel_woken_ns(feed->kernel, fed->tid), now_ns,
                    kernel_absence_instants(feed, now_ns - fed->counted_ns));
        }
    }
    if (!rc)
        rc = kernel_losses_count(feed, now_ns);
    return !rc && measure_set_has_events(feed->measures)
               ? kernel_events_count_growth(feed, now_ns, is_last)
               : rc;
}

/* A thread that waits in another call than a futex waits for no lock. */
static bool is_away(const struct kernel_feed *feed, const struct fed_thread *fed,
                    const struct target *target, const struct thread *thread)
{
    return fed && fed->target == target && fed->thread == thread && fed->current == thread &&
           (!fed->has_moved || (fed->left_ns && !fed->lacks_stack)) && !feed->is_paused &&
           (!fed->call.is_known || system_call_kind(fed->call.number) == CALL_FUTEX);
}

uint64_t kernel_feed_stands_since(const struct kernel_feed *feed, const struct target *target,
                                  const struct thread *thread)
{
    const struct fed_thread *const fed =
        kernel_threads_find_tid(&feed->threads, thread->host_tid);
    if (!is_away(feed, fed, target, thread))
        return 0;
    return fed->has_moved ? fed->left_ns : fed->listed_ns;
}

enum err_code kernel_feed_check_stands(struct kernel_feed *feed, const struct target *target,
                                       const struct thread *thread, uint64_t now_ns,
                                       bool *stands_out)
{
    struct fed_thread *const fed = kernel_threads_find_tid(&feed->threads, thread->host_tid);
    enum err_code rc = ERR_OK;
    *stands_out = false;
    if (!is_away(feed, fed, target, thread))
        return ERR_OK;
    if (!fed->has_moved) {
        *stands_out = true;
        return ERR_OK;
    }
    if (kernel_left_ns(feed->kernel, fed->tid) != fed->left_ns)
        return ERR_OK;
    /* Its stack is taken when its absence is counted. */
    if (fed->shown_ns != fed->left_ns && now_ns > fed->counted_ns &&
        now_ns - fed->left_ns >= kernel_min_away_ns(feed->kernel))
        rc = kernel_absence_count(feed, fed, kernel_woken_ns(feed->kernel, fed->tid), now_ns,
                                  kernel_absence_instants(feed, now_ns - fed->counted_ns));
    *stands_out = !rc && fed->shown_ns == fed->left_ns;
    return rc;
}

uint64_t kernel_feed_ticks(struct kernel_feed *feed, uint64_t now_ns)
{
    const uint64_t period_ns = kernel_period_ns(feed->kernel);
    const uint64_t ticks = !feed->is_paused && now_ns > feed->ticked_ns
                               ? (now_ns - feed->ticked_ns) / period_ns
                               : 0;
    feed->ticked_ns += ticks * period_ns;
    return ticks;
}

void kernel_feed_set_rate(struct kernel_feed *feed, double rate_hz)
{
    kernel_set_rate(feed->kernel, rate_hz);
}
