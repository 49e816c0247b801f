#include "sampler/session/kernel/kernel_events.h"

#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/process.h"
#include "sampler/process/process_stats.h"
#include "sampler/session/kernel/kernel_absence.h"
#include "sampler/session/target.h"

/* The switches of threads that count, in the long run, and how often that is seen to. */
enum { MAX_SWITCHES_HZ = 2000 };
static const uint64_t SWITCH_PACE_NS = 100 * NS_PER_MS;

enum err_code kernel_events_count_record(struct kernel_feed *feed, struct fed_thread *fed,
                                         const struct kernel_record *record, const void *spans,
                                         struct kernel_instants instants)
{
    kernel_path_id in_kernel;
    enum err_code rc = kernel_paths_find(feed->paths, record, spans, &in_kernel);
    if (rc)
        return rc;
    instants.in_kernel = kernel_paths_path(feed->paths, in_kernel);
    rc = kernel_stack_count_record(&feed->stacks, &fed->stack, fed->target, fed->current,
                                   record, spans, &instants);
    if (rc != ERR_GONE)
        return rc;
    kernel_forget(feed->kernel);
    return kernel_absence_count_unseen(fed, &instants);
}

static struct kernel_instants pages_of(const struct kernel_record *record)
{
    return (struct kernel_instants){ .since_ns = record->time_ns,
                                     .until_ns = record->time_ns,
                                     .times = record->instants,
                                     .measure =
                                         record->kind == KERNEL_COPY   ? MEASURE_COPY_ON_WRITE
                                         : record->kind == KERNEL_FREE ? MEASURE_RETURNED
                                                                       : MEASURE_PAGE_FAULTS,
                                     .runs = VALUE_YES,
                                     .runnable = VALUE_NO };
}

enum err_code kernel_events_count_pages(struct kernel_feed *feed, struct fed_thread *fed,
                                        const struct kernel_record *record, const void *spans)
{
    const struct kernel_instants instants = pages_of(record);
    struct fed_target *const target = kernel_threads_find_target(&feed->threads, record->pid);
    if (target)
        kernel_absence_attribute(target, instants.measure, instants.times);
    return spans ? kernel_events_count_record(feed, fed, record, spans, instants)
                 : kernel_absence_count_unseen(fed, &instants);
}

enum err_code kernel_events_count_switch(struct kernel_feed *feed, struct fed_thread *fed,
                                         const struct kernel_record *record)
{
    const struct kernel_instants instants = {
        .since_ns = record->time_ns,
        .until_ns = record->time_ns,
        .times = feed->switch_gap,
        .measure = MEASURE_CONTEXT_SWITCHES,
        .runs = VALUE_YES,
        .runnable = VALUE_NO,
        .in_kernel = kernel_paths_path(feed->paths, fed->in_kernel),
    };
    feed->switches++;
    if (random_below(&feed->random, feed->switch_gap))
        return ERR_OK;
    return fed->lacks_stack ? kernel_absence_count_unseen(fed, &instants)
                            : kernel_stack_count(&feed->stacks, &fed->stack, fed->target,
                                                 fed->current, &instants);
}

/* Switches come as often as the targets want them to, and each that counts takes as much of us as a sample of time. */
void kernel_events_pace_switches(struct kernel_feed *feed, uint64_t now_ns)
{
    const uint64_t since_ns = now_ns - feed->switches_since_ns;
    if (since_ns < SWITCH_PACE_NS)
        return;
    const uint64_t gap = feed->switches * NS_PER_S / since_ns / MAX_SWITCHES_HZ + 1;
    feed->switch_gap = gap < UINT16_MAX ? (uint32_t)gap : UINT16_MAX;
    feed->switches = 0;
    feed->switches_since_ns = now_ns;
}

static enum err_code count_missing(struct fed_target *fed, enum measure measure, uint64_t pages,
                                   uint64_t now_ns)
{
    return pages ? fold_unattributed(&fed->target->fold, measure,
                                     pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX, now_ns)
                 : ERR_OK;
}

/* A target has become larger by what it has given back, too. */
enum err_code kernel_events_count_growth(struct kernel_feed *feed, uint64_t now_ns,
                                         bool is_last)
{
    const uint64_t page_bytes = measure_period(MEASURE_PAGE_FAULTS);
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < feed->threads.target_count && !rc; i++) {
        struct fed_target *const fed = &feed->threads.targets[i];
        struct process_stats stats;
        const uint64_t returned = kernel_returned_pages(feed->kernel, fed->target->process.pid);
        if (measure_set_has(feed->measures, MEASURE_RETURNED))
            rc = count_missing(fed, MEASURE_RETURNED,
                               growth_settle(&fed->returned, returned, 0, is_last), now_ns);
        if (rc || !measure_set_has(feed->measures, MEASURE_PAGE_FAULTS) ||
            process_stats_read(fed->target->process.pid, &stats, NULL) ||
            process_has_exited(&fed->target->process) || !stats.rss_bytes)
            continue;
        rc = count_missing(fed, MEASURE_PAGE_FAULTS,
                           growth_settle(&fed->growth, stats.rss_bytes / page_bytes + returned,
                                         processors > 0 ? (unsigned)processors : 1, is_last),
                           now_ns);
    }
    return rc;
}
