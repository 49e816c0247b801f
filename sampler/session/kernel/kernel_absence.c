#include "sampler/session/kernel/kernel_absence.h"

#include "sampler/kernel/engine.h"
#include "sampler/session/kernel/kernel_reading.h"
#include "sampler/session/target.h"

uint32_t kernel_absence_instants(struct kernel_feed *feed, uint64_t ns)
{
    const uint64_t period_ns = kernel_period_ns(feed->kernel);
    return (uint32_t)((ns + random_below(&feed->random, period_ns)) / period_ns);
}

enum err_code kernel_absence_count_unseen(struct fed_thread *fed,
                                          const struct kernel_instants *instants)
{
    return instants->times ? kernel_reading_take_unknown(fed->target, fed->thread, instants)
                           : ERR_OK;
}

/* Counts a thread's absence from where it was counted last up to `until_ns`. */
static enum err_code count_absence(struct kernel_feed *feed, struct fed_thread *fed,
                                   uint64_t until_ns, uint32_t times)
{
    const struct kernel_instants instants = {
        .since_ns = fed->counted_ns,
        .until_ns = until_ns,
        .times = times,
        .runs = fed->was_runnable,
        .runnable = fed->was_runnable,
        .call = fed->call,
        .in_kernel = kernel_paths_path(feed->paths, fed->in_kernel),
    };
    fed->counted_ns = until_ns;
    if (fed->lacks_stack)
        return kernel_absence_count_unseen(fed, &instants);
    if (!times)
        return ERR_OK;
    fed->shown_ns = fed->left_ns;
    return kernel_stack_count(&feed->stacks, &fed->stack, fed->target, fed->current, &instants);
}

enum err_code kernel_absence_count(struct kernel_feed *feed, struct fed_thread *fed,
                                   uint64_t woken_ns, uint64_t until_ns, uint32_t times)
{
    const uint64_t since_ns = fed->counted_ns,
                   ready_since_ns = kernel_absence_later(woken_ns, since_ns);
    if (!woken_ns || ready_since_ns >= until_ns)
        return count_absence(feed, fed, until_ns, times);
    const uint64_t all_ns = until_ns - since_ns;
    const uint32_t ready =
        (uint32_t)((times * (until_ns - ready_since_ns) + random_below(&feed->random, all_ns)) /
                   all_ns);
    const enum err_code rc = count_absence(feed, fed, ready_since_ns, times - ready);
    fed->was_runnable = VALUE_YES;
    return rc ? rc : count_absence(feed, fed, until_ns, ready);
}

/* The thread is away since then, and the record of its leaving was lost. */
static void set_unseen_absence(struct fed_thread *fed, uint64_t left_ns, uint64_t since_ns)
{
    fed->left_ns = left_ns;
    fed->counted_ns = since_ns;
    fed->lacks_stack = true;
    fed->was_runnable = VALUE_UNKNOWN;
    fed->call = (struct system_call){ 0 };
    fed->in_kernel = 0;
}

void kernel_absence_end(const struct kernel_feed *feed, struct fed_thread *fed)
{
    const uint64_t counted_ns =
        fed->left_ns && fed->counted_ns > fed->left_ns ? fed->counted_ns - fed->left_ns : 0;
    if (counted_ns >= kernel_min_away_ns(feed->kernel))
        fed->overcounted_ns += counted_ns;
    fed->left_ns = 0;
}

/* Takes what was lost of a thread since the last call.  If the record of its leaving was, it is away since then. */
static struct kernel_losses take_losses(struct kernel_feed *feed, struct fed_thread *fed)
{
    const struct kernel_losses before = fed->losses;
    const uint64_t left_ns = kernel_left_ns(feed->kernel, fed->tid);
    fed->losses = kernel_losses(feed->kernel, fed->tid);
    const uint64_t away_ns = fed->losses.away_ns - before.away_ns;
    if (away_ns && left_ns != fed->left_ns)
        kernel_absence_end(feed, fed);
    if (left_ns && !fed->left_ns && fed->has_moved && left_ns < feed->seen_ns)
        set_unseen_absence(fed, left_ns,
                           kernel_absence_later(
                               left_ns, kernel_absence_later(feed->begun_ns, fed->counted_ns)));
    feed->has_unseen_left |= left_ns && !fed->left_ns && fed->has_moved;
    const struct kernel_losses taken = {
        .instants = fed->losses.instants - before.instants,
        .away_ns = away_ns > fed->overcounted_ns ? away_ns - fed->overcounted_ns : 0,
        .pages = { .grown = fed->losses.pages.grown - before.pages.grown,
                   .copied = fed->losses.pages.copied - before.pages.copied,
                   .returned = fed->losses.pages.returned - before.pages.returned },
    };
    fed->overcounted_ns = 0;
    return taken;
}

/* Has anything been lost since the last call? */
static bool has_losses(struct kernel_feed *feed)
{
    struct kernel_counts counts;
    kernel_count(feed->kernel, &counts);
    const bool has_any = counts.lost != feed->lost || feed->has_unseen_left;
    feed->lost = counts.lost;
    feed->has_unseen_left = false;
    return has_any;
}

void kernel_absence_attribute(struct fed_target *target, enum measure measure, uint32_t pages)
{
    if (measure == MEASURE_PAGE_FAULTS)
        target->growth.attributed += pages;
    else if (measure == MEASURE_RETURNED)
        target->returned.attributed += pages;
}

/* Counts pages of a thread, and nobody knows where. */
static enum err_code count_lost_pages(struct kernel_feed *feed, struct fed_thread *fed,
                                      enum measure measure, uint64_t pages, uint64_t now_ns)
{
    struct fed_target *const target =
        kernel_threads_find_target(&feed->threads, (uint32_t)fed->target->process.pid);
    const struct kernel_instants instants = {
        .since_ns = now_ns,
        .until_ns = now_ns,
        .times = pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX,
        .measure = measure,
        .runs = VALUE_YES,
        .runnable = VALUE_NO,
    };
    if (target)
        kernel_absence_attribute(target, measure, instants.times);
    return kernel_absence_count_unseen(fed, &instants);
}

enum err_code kernel_losses_count(struct kernel_feed *feed, uint64_t now_ns)
{
    struct kernel_instants instants = {
        .since_ns = feed->lost_ns < now_ns ? feed->lost_ns : now_ns,
        .until_ns = now_ns,
    };
    const bool has_any = has_losses(feed);
    const bool counts_time = measure_set_has(feed->measures, MEASURE_TIME);
    enum err_code rc = ERR_OK;
    feed->lost_ns = now_ns;
    for (size_t i = 0; i < feed->threads.count && has_any && !rc; i++) {
        struct fed_thread *const fed = &feed->threads.items[i];
        const struct kernel_losses losses = take_losses(feed, fed);
        instants.times = (uint32_t)losses.instants;
        instants.runs = VALUE_YES;
        instants.runnable = VALUE_NO;
        if (counts_time)
            rc = kernel_absence_count_unseen(fed, &instants);
        if (!rc)
            rc = count_lost_pages(feed, fed, MEASURE_PAGE_FAULTS, losses.pages.grown, now_ns);
        if (!rc)
            rc =
                count_lost_pages(feed, fed, MEASURE_COPY_ON_WRITE, losses.pages.copied, now_ns);
        if (!rc)
            rc = count_lost_pages(feed, fed, MEASURE_RETURNED, losses.pages.returned, now_ns);
        if (rc || !losses.away_ns || !counts_time)
            continue;
        instants.times = kernel_absence_instants(feed, losses.away_ns);
        instants.runs = instants.runnable = VALUE_UNKNOWN;
        rc = kernel_absence_count_unseen(fed, &instants);
    }
    return rc;
}

void kernel_losses_skip(struct kernel_feed *feed, uint64_t now_ns)
{
    const bool has_any = has_losses(feed);
    feed->lost_ns = now_ns;
    for (size_t i = 0; i < feed->threads.count && has_any; i++)
        (void)take_losses(feed, &feed->threads.items[i]);
}

void kernel_absence_begin(const struct kernel_feed *feed, struct fed_thread *fed,
                          const struct kernel_record *record, kernel_path_id in_kernel,
                          bool lacks_stack)
{
    if (fed->left_ns != record->time_ns)
        kernel_absence_end(feed, fed);
    fed->lacks_stack = lacks_stack;
    fed->was_runnable = record->flags & KERNEL_RUNNABLE ? VALUE_YES : VALUE_NO;

    fed->call = (struct system_call){
        .number = record->system_call,
        .is_known = record->system_call >= 0,
        .has_polled = record->has_polled,
        .polled = record->polled,
        .events = (int16_t)record->events,
        .args = { record->args[0], record->args[1] },
    };

    fed->in_kernel = in_kernel;
    fed->left_ns = record->time_ns;
    /* It may have been counted before its record came. */
    fed->counted_ns = kernel_absence_later(
        record->time_ns, kernel_absence_later(feed->begun_ns, fed->counted_ns));
}

/* The engine reports a short absence as often as an instant falls into it. */
enum err_code kernel_absence_come_back(struct kernel_feed *feed, struct fed_thread *fed,
                                       const struct kernel_record *record)
{
    const uint64_t away_ns = record->time_ns - record->left_ns;
    const bool is_known = fed->left_ns == record->left_ns;
    /* Time before counted_ns was before the session, or in a pause. */
    const uint64_t since_ns =
        is_known ? fed->counted_ns : kernel_absence_later(record->left_ns, fed->counted_ns);
    if (!is_known)
        kernel_absence_end(feed, fed);
    fed->left_ns = 0;
    if (record->time_ns < since_ns)
        return ERR_OK;
    const bool is_by_chance =
        away_ns < kernel_min_away_ns(feed->kernel) && away_ns < kernel_period_ns(feed->kernel);
    const uint32_t times =
        is_by_chance ? 1 : kernel_absence_instants(feed, record->time_ns - since_ns);
    if (!is_known)
        set_unseen_absence(fed, 0, since_ns);
    return kernel_absence_count(feed, fed, record->woken_ns, record->time_ns, times);
}
