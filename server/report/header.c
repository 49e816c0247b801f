#include "server/report/header.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/window.h"
#include "server/report/report_source.h"
#include "server/wire/session.h"

static uint64_t smaller_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The time that the samples of a window stand for; 0: unknown. */
static double window_ns(const struct window *window)
{
    double ns = 0;
    if (!window->cell_ns)
        return (double)window->samples * (double)window->period_ns;
    for (size_t i = 0; i < window->cell_count; i++)
        ns += (double)window->cell_ns[i];
    return ns;
}

static double examined_ns(const struct report_source *source)
{
    const struct profile_snapshot *const snapshot = source->snapshot;
    const double requested_hz = session_info_requested_hz(source->session);
    if (snapshot->quality.ticks > 0 && snapshot->end_ns >= snapshot->quality.ticks)
        return (double)snapshot->end_ns / (double)snapshot->quality.ticks;
    return requested_hz > 0 ? (double)NS_PER_S / requested_hz : (double)NS_PER_S;
}

static enum err_code add_up(struct report_header *header, const struct report_source *source,
                            struct err *err)
{
    /* The time that a sample of the session stands for on average: as the windows know it, else the
     * session's time over the ticks it had. */
    double all_ns = 0, samples = 0;
    for (size_t i = 0; i < source->snapshot->window_count; i++) {
        const struct window *const window = source->snapshot->windows[i];
        const double known_ns = window_ns(window);
        if (known_ns > 0) {
            all_ns += known_ns;
            samples += (double)window->samples;
        }
    }
    header->has_time =
        samples > 0 || source->snapshot->quality.ticks > 0 || !source->session->foreign;
    const double period_ns = samples > 0 ? all_ns / samples : examined_ns(source);
    const uint64_t usual_ns = period_ns >= 1 ? (uint64_t)period_ns : 1;

    struct view view;
    const enum err_code rc = view_init(&view, source->snapshot, source->query, err);
    if (rc)
        return rc;
    header->samples = view.total;
    header->has_periods = view.self_ns != NULL;
    for (size_t i = 0; i < view.count; i++) {
        const uint64_t ns = view_self_ns(&view, i);
        header->ns += ns > 0 ? ns : view.self[i] * usual_ns;
    }
    view_deinit(&view);
    header->period_ns = header->samples > 0 ? header->ns / header->samples : usual_ns;
    header->period_ns = larger_of(header->period_ns, 1);
    return ERR_OK;
}

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* A thread that was given another name has two rows. */
static int by_tid(const void *a, const void *b)
{
    const struct report_header_thread *const x = a, *const y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Keeps one of each; the items are sorted. */
static size_t drop_doubles(void *items, size_t count, size_t bytes,
                           int (*compare)(const void *a, const void *b))
{
    char *const at = items;
    size_t kept = count > 0;
    for (size_t i = 1; i < count; i++)
        if (compare(at + (kept - 1) * bytes, at + i * bytes) != 0)
            memmove(at + kept++ * bytes, at + i * bytes, bytes);
    return kept;
}

/* The requested selection, where filters or names have changed what the snapshot holds
 * since. */
struct asked {
    struct report_selection processes, threads;
};

static enum err_code find_threads(struct report_header *header, const struct asked *asked,
                                  struct err *err)
{
    const struct profile_snapshot *const snapshot = asked->threads.snapshot;
    const struct view_query *const query = asked->threads.query;
    if (!query->threads)
        return ERR_OK;
    header->threads = calloc(query->thread_count + 1, sizeof *header->threads);
    if (!header->threads)
        return err_nomem(err);
    for (size_t i = 0; i < query->thread_count; i++)
        if (query->threads[i] < snapshot->sizes.threads) {
            const struct profile_thread row = profile_thread_at(snapshot, query->threads[i]);
            header->threads[header->thread_count++] =
                (struct report_header_thread){ row.tid, profile_string(snapshot, row.name) };
        }
    qsort(header->threads, header->thread_count, sizeof *header->threads, by_tid);
    header->thread_count =
        drop_doubles(header->threads, header->thread_count, sizeof *header->threads, by_tid);
    return ERR_OK;
}

/* The processes that were selected: those asked for, those of threads asked for, or all. */
struct processes {
    const struct profile_snapshot *snapshot;
    const process_id *listed; /* NULL: all rows, or those of `threads` */
    const thread_id *threads;
    size_t count;
};

static struct processes processes_of(const struct asked *asked)
{
    const struct view_query *const by_process = asked->processes.query;
    const struct view_query *const by_thread = asked->threads.query;
    if (by_process->processes)
        return (struct processes){ .snapshot = asked->processes.snapshot,
                                   .listed = by_process->processes,
                                   .count = by_process->process_count };
    if (by_thread->threads)
        return (struct processes){ .snapshot = asked->threads.snapshot,
                                   .threads = by_thread->threads,
                                   .count = by_thread->thread_count };
    return (struct processes){ .snapshot = asked->processes.snapshot,
                               .count = asked->processes.snapshot->sizes.processes };
}

/* The row, or one that does not exist. */
static process_id process_at(const struct processes *processes, size_t index)
{
    if (processes->listed)
        return processes->listed[index];
    if (!processes->threads)
        return (process_id)index;
    return processes->threads[index] < processes->snapshot->sizes.threads
               ? profile_thread_at(processes->snapshot, processes->threads[index]).process
               : processes->snapshot->sizes.processes;
}

/* A target may end while it is read, so a listed one is copied by its list. */
static struct session_target copy_of(const struct session_info *session, int32_t pid,
                                     const struct session_target *unlisted)
{
    struct session_target known;
    for (size_t i = 0; session_info_target_at(session, i, &known); i++)
        if (known.pid == pid)
            return known;
    return *unlisted;
}

static enum err_code find_processes(struct report_header *header, const struct asked *asked,
                                    const struct session_info *session, struct err *err)
{
    const struct processes processes = processes_of(asked);
    const uint32_t rows = processes.snapshot->sizes.processes;
    process_id first = rows;
    header->pids = malloc((processes.count + 1) * sizeof *header->pids);
    if (!header->pids)
        return err_nomem(err);
    for (size_t i = 0; i < processes.count; i++) {
        const process_id id = process_at(&processes, i);
        if (id >= rows)
            continue;
        first = id < first ? id : first;
        header->pids[header->process_count++] = profile_process_at(processes.snapshot, id).pid;
    }
    qsort(header->pids, header->process_count, sizeof *header->pids, by_number);
    header->process_count =
        drop_doubles(header->pids, header->process_count, sizeof *header->pids, by_number);
    header->has_all_processes =
        !processes.threads && (!processes.listed || processes.count >= rows);

    /* The session's own process if it was selected, else the one that was seen first. */
    const int32_t own = (int32_t)session->target->pid;
    header->target = copy_of(session, own, session->target);
    if (header->process_count == 0 ||
        bsearch(&own, header->pids, header->process_count, sizeof own, by_number))
        return ERR_OK;
    const struct profile_process row = profile_process_at(processes.snapshot, first);
    header->words[0] = profile_string(processes.snapshot, row.name).text;
    const struct session_target unlisted = { .pid = row.pid,
                                             .argc = 1,
                                             .argv = header->words,
                                             .executable = "",
                                             .python = session->target->python,
                                             .validated = session->target->validated };
    header->target = copy_of(session, row.pid, &unlisted);
    return ERR_OK;
}

/* A window is selected by when it starts, and with all its samples: the instant moves to where
 * the window ends that it lies in. */
static uint64_t moved_to_edge(const struct profile_snapshot *snapshot, uint64_t at_ns)
{
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const struct window *const window = snapshot->windows[i];
        if (window->start_ns < at_ns && at_ns < window->end_ns)
            return window->end_ns;
    }
    return at_ns;
}

static void cut_range(struct report_header *header, const struct profile_snapshot *snapshot,
                      const struct view_query *query)
{
    header->from_ns = larger_of(header->from_ns, moved_to_edge(snapshot, query->from_ns));
    if (query->to_ns)
        header->to_ns = smaller_of(header->to_ns, moved_to_edge(snapshot, query->to_ns));
}

/* The range is the requested one, cut for some of the processes to the time that they were
 * there. */
static void find_range(struct report_header *header, const struct report_source *source)
{
    const struct report_selection *const said = source->selection;
    uint64_t joined_ns = UINT64_MAX, left_ns = 0;
    struct session_target known;
    header->session_ns = header->to_ns = source->snapshot->end_ns;
    cut_range(header, source->snapshot, source->query);
    if (said)
        cut_range(header, said->snapshot, said->query);
    for (size_t i = 0;
         !header->has_all_processes && session_info_target_at(source->session, i, &known);
         i++) {
        const int32_t pid = (int32_t)known.pid;
        if (!bsearch(&pid, header->pids, header->process_count, sizeof pid, by_number))
            continue;
        joined_ns = smaller_of(joined_ns, known.from_ns);
        left_ns = larger_of(left_ns, known.to_ns ? known.to_ns : UINT64_MAX);
    }
    if (left_ns > 0) {
        header->from_ns = larger_of(header->from_ns, joined_ns);
        header->to_ns = smaller_of(header->to_ns, left_ns);
    }
    header->from_ns = smaller_of(header->from_ns, header->session_ns);
    header->to_ns = larger_of(header->to_ns, header->from_ns);
    header->began_at_ns = source->session->status.started_at_ns + header->from_ns;
    header->ended_at_ns = source->session->status.started_at_ns + header->to_ns;
}

/* The requested profile has libraries, where the filtered one may not. */
static enum native_frames native_of(const struct report_source *source,
                                    const struct frame_filters *filters)
{
    const struct profile_snapshot *const asked =
        source->selection ? source->selection->snapshot : source->snapshot;
    if (asked->sizes.libraries <= 1)
        return NATIVE_FRAMES_DEFAULT;
    if (!filters)
        return NATIVE_FRAMES_EVERYTHING;
    return filters->native ? filters->native : NATIVE_FRAMES_LEAF;
}

enum err_code report_header_init(struct report_header *header,
                                 const struct report_source *source, struct err *err)
{
    const struct report_selection own = { .snapshot = source->snapshot,
                                          .query = source->query };
    const struct report_selection *const said = source->selection;
    const struct asked asked = (struct asked){
        .processes = said && !source->query->processes ? *said : own,
        .threads = said && !source->query->threads ? *said : own,
    };

    *header = (struct report_header){ 0 };
    enum err_code rc = add_up(header, source, err);
    if (!rc)
        rc = find_threads(header, &asked, err);
    if (!rc)
        rc = find_processes(header, &asked, source->session, err);
    if (rc) {
        report_header_deinit(header);
        return rc;
    }
    find_range(header, source);

    const struct view_query *const query = source->query;
    const struct view_query *const selected =
        source->selection ? source->selection->query : query;
    const struct frame_filters *const filters =
        source->selection ? source->selection->filters : NULL;
    header->measure = profile_measure(source->snapshot, source->snapshot->measure);
    header->is_of_time = source->snapshot->measure == MEASURE_TIME;
    header->has_time &= header->is_of_time;
    header->states = (struct state_condition){
        .require = (state_bits)(query->states.require | selected->states.require),
        .exclude = (state_bits)(query->states.exclude | selected->states.exclude),
        .parts = query->states.parts ? query->states.parts : selected->states.parts,
    };
    header->filters = filters && filters->count ? filters : NULL;
    header->native = native_of(source, filters);
    header->is_anonymized = source->settings.anonymizes;
    header->is_whole = header->has_all_processes && header->thread_count == 0 &&
                       !query->threads && !selected->threads && !query->requests &&
                       !selected->requests && !state_condition_is_set(&header->states) &&
                       !header->filters && header->native != NATIVE_FRAMES_HIDDEN &&
                       header->from_ns == 0 && header->to_ns == header->session_ns;
    return ERR_OK;
}

void report_header_deinit(struct report_header *header)
{
    free(header->pids);
    free(header->threads);
    *header = (struct report_header){ 0 };
}

uint64_t report_header_duration_ns(const struct report_header *header)
{
    return header->to_ns - header->from_ns;
}
