#include "server/push/window.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/context.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/wait.h"
#include "server/report/encoding/pprof.h"
#include "server/wire/session.h"

/* A cell and what it is sorted by. */
struct row {
    process_id process;
    struct view_cell cell;
};

static int by_process(const void *left, const void *right)
{
    const struct row *const a = left;
    const struct row *const b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->cell.state != b->cell.state)
        return a->cell.state < b->cell.state ? -1 : 1;
    if (a->cell.thread != b->cell.thread)
        return a->cell.thread < b->cell.thread ? -1 : 1;
    return (a->cell.node > b->cell.node) - (a->cell.node < b->cell.node);
}

static bool is_same(const struct row *a, const struct row *b)
{
    return by_process(a, b) == 0;
}

static bool is_span(const struct profile_snapshot *snapshot, node_id node)
{
    const function_id function = context_function_of_node(snapshot, node);
    struct context_text context;
    struct context_span span;
    return function && context_of_function(snapshot, function, &context) &&
           context_read_span(&context, &span);
}

/* The mark of a wait below that of a context stays. */
static node_id without_context(const struct profile_snapshot *snapshot, node_id node)
{
    return wait_unmarked(snapshot, node) == node ? context_unmarked(snapshot, node) : node;
}

/* Threads and states that samples are not labelled with are all the same.  A thread still says which process it
 * is of, so the first one of the process stands for the others. */
static void blur(const struct push_window *window, const struct profile_snapshot *snapshot,
                 enum push_values values, thread_id *first, struct row *row)
{
    row->process = profile_thread_at(snapshot, row->cell.thread).process;
    /* A receiver that makes a series of each label is not sent values without a bound; it knows ids of spans. */
    if (!is_span(snapshot, row->cell.node))
        row->cell.node = without_context(snapshot, row->cell.node);
    if (!(window->sample_labels & PPROF_THREAD)) {
        if (first[row->process] == UINT32_MAX)
            first[row->process] = row->cell.thread;
        row->cell.thread = first[row->process];
    }
    if (!(window->sample_labels & PPROF_STATE))
        row->cell.state = values == PUSH_CPU ? STATE_ON_CPU : 0;
}

/* Returns how many rows are left. */
static size_t add_up(struct row *rows, size_t count)
{
    size_t kept = 0;
    qsort(rows, count, sizeof *rows, by_process);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && is_same(&rows[kept - 1], &rows[i])) {
            rows[kept - 1].cell.count += rows[i].cell.count;
            rows[kept - 1].cell.ns += rows[i].cell.ns;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

static size_t select_rows(const struct push_window *window, const struct view_cells *all,
                          enum push_values values, thread_id *first, struct row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct row row = { .cell = all->cells[i] };
        if (row.cell.ns == 0)
            row.cell.ns = row.cell.count * window->period_ns;
        if (values == PUSH_CPU && pprof_cpu_ns(&row.cell, row.cell.ns) == 0)
            continue;
        blur(window, window->snapshot, values, first, &row);
        rows[count++] = row;
    }
    return count > 0 ? add_up(rows, count) : 0;
}

/* The cells of a process are one range of them. */
static enum err_code divide(struct push_window *window, enum push_values values,
                            const struct row *rows, size_t count,
                            struct push_cells *by_process_id, struct err *err)
{
    struct view_cell *const cells = calloc(count + 1, sizeof *cells);
    if (!cells)
        return err_nomem(err);
    window->cells[values] = cells;
    for (size_t i = 0; i < count; i++) {
        struct push_cells *const range = &by_process_id[rows[i].process];
        cells[i] = rows[i].cell;
        if (range->count++ == 0)
            range->cells = &cells[i];
    }
    return ERR_OK;
}

static void name_process(const struct session_info *info, struct profile_process row,
                         const char *name, const char *host,
                         const struct push_settings *settings, struct push_process *out)
{
    const char *const words[] = { name };
    struct sampler_target target, at;
    bool is_known = false;
    for (size_t i = 0; !is_known && session_target_at(info, i, &at); i++)
        is_known = at.pid == row.pid;
    target = is_known
                 ? at
                 : (struct sampler_target){
                       .pid = row.pid, .argc = *name ? 1 : 0, .argv = words, .executable = ""
                   };
    push_labels_of(&target, host, settings, &out->labels);
    out->executable = target.executable;
}

static enum err_code list_processes(struct push_window *window, const struct session_info *info,
                                    const char *host, const struct push_settings *settings,
                                    struct push_cells *ranges[PUSH_VALUES], struct err *err)
{
    const struct profile_snapshot *const snapshot = window->snapshot;
    window->processes =
        calloc((size_t)snapshot->sizes.processes + 1, sizeof *window->processes);
    if (!window->processes)
        return err_nomem(err);
    for (process_id id = 0; id < snapshot->sizes.processes; id++) {
        const struct profile_process row = profile_process_at(snapshot, id);
        if (ranges[PUSH_WALL][id].count == 0)
            continue;
        struct push_process *const process = &window->processes[window->process_count++];
        process->values[PUSH_CPU] = ranges[PUSH_CPU][id];
        process->values[PUSH_WALL] = ranges[PUSH_WALL][id];
        name_process(info, row, profile_string(snapshot, row.name).text, host, settings,
                     process);
    }
    return ERR_OK;
}

static enum err_code divide_all(struct push_window *window, const struct view_cells *all,
                                struct row *rows, thread_id *first,
                                struct push_cells *ranges[PUSH_VALUES], struct err *err)
{
    const size_t processes = window->snapshot->sizes.processes;
    enum err_code rc = ERR_OK;
    for (enum push_values values = PUSH_CPU; values < PUSH_VALUES && rc == ERR_OK; values++) {
        memset(first, 0xff, (processes + 1) * sizeof *first);
        const size_t count = select_rows(window, all, values, first, rows);
        rc = divide(window, values, rows, count, ranges[values], err);
    }
    return rc;
}

static enum err_code fill(struct push_window *window, const struct session_info *info,
                          const struct view_cells *all, const char *host,
                          const struct push_settings *settings, struct err *err)
{
    const size_t processes = window->snapshot->sizes.processes;
    struct row *const rows = calloc(all->count + 1, sizeof *rows);
    thread_id *const first = calloc(processes + 1, sizeof *first);
    struct push_cells *ranges[PUSH_VALUES] = { calloc(processes + 1, sizeof **ranges),
                                               calloc(processes + 1, sizeof **ranges) };
    enum err_code rc = rows && first && ranges[PUSH_CPU] && ranges[PUSH_WALL]
                           ? divide_all(window, all, rows, first, ranges, err)
                           : err_nomem(err);
    if (rc == ERR_OK)
        rc = list_processes(window, info, host, settings, ranges, err);
    for (size_t i = 0; i < all->count; i++)
        window->samples += all->cells[i].count;
    free(rows);
    free(first);
    free(ranges[PUSH_CPU]);
    free(ranges[PUSH_WALL]);
    return rc;
}

static enum err_code anonymize(struct push_window *window, const struct session_info *info,
                               struct err *err)
{
    static const struct view_query everything = { 0 };
    struct report_header header;
    struct report_source source = { .snapshot = window->snapshot,
                                    .query = &everything,
                                    .session = info };
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc != ERR_OK)
        return rc;
    source.header = &header;
    rc = anonymized_init(&window->anonymized, &source, err);
    report_header_deinit(&header);
    if (rc == ERR_OK)
        window->snapshot = &window->anonymized.snapshot;
    return rc;
}

/* What a sample of the range stands for, as in reports: a window of an older capture may not say it. */
static enum err_code find_period(struct push_window *window, const struct session_info *info,
                                 const struct view_query *range, struct err *err)
{
    const struct report_source source = { .snapshot = info->snapshot,
                                          .query = range,
                                          .session = info };
    struct report_header header;
    const enum err_code rc = report_header_init(&header, &source, err);
    if (rc != ERR_OK)
        return rc;
    window->period_ns = header.period_ns;
    report_header_deinit(&header);
    return ERR_OK;
}

enum err_code push_window_init(struct push_window *window, const struct session_info *info,
                               uint64_t from_ns, uint64_t to_ns, const char *host,
                               const struct push_settings *settings, struct err *err)
{
    static const struct view_query everything = { 0 };
    static const unsigned labels[] = { [PUSH_SAMPLES_NONE] = 0,
                                       [PUSH_SAMPLES_THREAD] = PPROF_THREAD,
                                       [PUSH_SAMPLES_STATE] = PPROF_STATE,
                                       [PUSH_SAMPLES_THREAD_STATE] =
                                           PPROF_THREAD | PPROF_STATE };
    const struct view_query range = { .from_ns = from_ns, .to_ns = to_ns };
    const struct session_info *named = info;
    struct view_cells cells;
    memset(window, 0, sizeof *window);
    window->began_at_ns = info->status.started_at_ns + from_ns;
    window->duration_ns = to_ns - from_ns;
    window->sample_labels = labels[settings->sample_labels];
    enum err_code rc = find_period(window, info, &range, err);
    if (rc != ERR_OK)
        return rc;
    struct frame_filters filters = info->filters ? *info->filters : (struct frame_filters){ 0 };
    filters.shows_contexts = true;
    rc = reshaped_init(&window->reshaped, info->snapshot, &range, &filters, RESHAPED_SUM, err);
    if (rc != ERR_OK)
        return rc;
    window->snapshot = &window->reshaped.snapshot;
    if (settings->anonymizes) {
        rc = anonymize(window, info, err);
        named = &window->anonymized.session;
        host = NULL;
    }
    if (rc == ERR_OK)
        rc = view_cells_init(&cells, window->snapshot, &everything, err);
    if (rc == ERR_OK) {
        rc = fill(window, named, &cells, host, settings, err);
        view_cells_deinit(&cells);
    }
    if (rc != ERR_OK)
        push_window_deinit(window);
    return rc;
}

void push_window_deinit(struct push_window *window)
{
    free(window->processes);
    for (size_t i = 0; i < PUSH_VALUES; i++)
        free(window->cells[i]);
    anonymized_deinit(&window->anonymized);
    if (window->reshaped.profile)
        reshaped_deinit(&window->reshaped);
    memset(window, 0, sizeof *window);
}
