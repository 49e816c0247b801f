#include "server/push/batch.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/context.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/frame_filters.h"
#include "sampler/profile/wait.h"
#include "server/report/encoding/pprof.h"
#include "server/wire/session.h"

#define NO_PROCESS UINT32_MAX

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

static size_t select_rows(const struct push_batch *batch, const struct view_cells *all,
                          enum push_values values, const process_id *leaders, thread_id *first,
                          struct row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct row row = { .cell = all->cells[i] };
        if (row.cell.ns == 0)
            row.cell.ns = row.cell.count * batch->periods[values];
        if (values == PUSH_CPU && pprof_cpu_ns(&row.cell, row.cell.ns) == 0)
            continue;

        /* Threads and states that samples are not labelled with are all the same.  A thread still
         * says which process it is of, so the first one of the process stands for the others. */
        const struct profile_snapshot *const snapshot = batch->snapshot;
        row.process = leaders[profile_thread_at(snapshot, row.cell.thread).process];
        /* A receiver that makes a series of each label is not sent values without a bound; it knows
         * ids of spans. */
        const node_id node = row.cell.node;
        const function_id function = context_function_of_node(snapshot, node);
        struct context_text context;
        struct context_span span;
        const bool is_span = function && context_of_function(snapshot, function, &context) &&
                             context_read_span(&context, &span);
        /* The mark of a wait below that of a context stays. */
        if (!is_span && wait_unmarked(snapshot, node) == node)
            row.cell.node = context_unmarked(snapshot, node);
        if (!(batch->sample_labels & PPROF_THREAD)) {
            if (first[row.process] == UINT32_MAX)
                first[row.process] = row.cell.thread;
            row.cell.thread = first[row.process];
        }
        if (!(batch->sample_labels & PPROF_STATE))
            row.cell.state = values == PUSH_CPU ? STATE_ON_CPU : 0;

        rows[count++] = row;
    }

    size_t kept = 0;
    qsort(rows, count, sizeof *rows, by_process);
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && (by_process(&rows[kept - 1], &rows[i]) == 0)) {
            rows[kept - 1].cell.count += rows[i].cell.count;
            rows[kept - 1].cell.ns += rows[i].cell.ns;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* The samples of a range, by measure. */
struct measured {
    struct view_cells cells[MEASURE_COUNT];
};

static void measured_deinit(struct measured *measured)
{
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        view_cells_deinit(&measured->cells[i]);
}

static enum err_code measured_init(struct measured *measured, struct push_batch *batch,
                                   struct err *err)
{
    static const struct view_query everything = { 0 };
    enum err_code rc = ERR_OK;
    memset(measured, 0, sizeof *measured);
    for (enum measure i = MEASURE_TIME; i < MEASURE_COUNT && !rc; i++) {
        struct view_cells *const cells = &measured->cells[i];
        struct profile_snapshot other;
        uint64_t count = 0, value = 0;
        if (i == MEASURE_TIME) {
            rc = view_cells_init(cells, batch->snapshot, &everything, err);
            continue;
        }
        if (!(batch->snapshot->beside & MEASURE_SET(i)))
            continue;
        rc = profile_snapshot_beside(batch->snapshot, i, &other, err);
        if (rc)
            break;
        rc = view_cells_init(cells, &other, &everything, err);
        profile_snapshot_release(&other);
        for (size_t j = 0; j < cells->count && !rc; j++) {
            count += cells->cells[j].count;
            value += cells->cells[j].ns;
        }
        batch->periods[PUSH_WALL + i] = count ? value / count : 0;
    }
    if (rc)
        measured_deinit(measured);
    return rc;
}

/* Marks the processes that have samples, and names them in the order of their ids. */
static enum err_code name_processes(struct push_batch *batch, const struct measured *all,
                                    const struct session_info *info, const char *host,
                                    const struct push_settings *settings, process_id *leaders,
                                    struct err *err)
{
    const struct profile_snapshot *const snapshot = batch->snapshot;
    size_t count = 0;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        for (size_t j = 0; j < all->cells[i].count; j++) {
            process_id *const mark =
                &leaders[profile_thread_at(snapshot, all->cells[i].cells[j].thread).process];
            count += *mark == NO_PROCESS;
            *mark = 0;
        }
    batch->processes = calloc(count + 1, sizeof *batch->processes);
    if (!batch->processes)
        return err_nomem(err);
    for (process_id id = 0; id < snapshot->sizes.processes; id++) {
        const struct profile_process row = profile_process_at(snapshot, id);
        if (leaders[id] == NO_PROCESS)
            continue;
        struct push_process *const process = &batch->processes[batch->process_count++];
        process->first = id;

        const char *const name = profile_string(snapshot, row.name).text;
        const char *const words[] = { name };
        struct session_target target, at;
        bool is_known = false;
        for (size_t i = 0; !is_known && session_info_target_at(info, i, &at); i++)
            is_known = at.pid == row.pid;
        target = is_known ? at
                          : (struct session_target){ .pid = row.pid,
                                                     .argc = *name ? 1 : 0,
                                                     .argv = words,
                                                     .executable = "" };
        push_labels_of(&target, host, settings, &process->labels);
        process->executable = *target.executable ? target.executable : "python";
    }
    return ERR_OK;
}

static int by_labels(const void *left, const void *right)
{
    const struct push_process *const a = left;
    const struct push_process *const b = right;
    const int order = push_labels_compare(&a->labels, &b->labels);
    return order != 0 ? order : (a->first > b->first) - (a->first < b->first);
}

static int by_id(const void *left, const void *right)
{
    const struct push_process *const a = left;
    const struct push_process *const b = right;
    return (a->first > b->first) - (a->first < b->first);
}

/* The rows of a process are one range of the cells, and those of processes are in the order of their ids. */
static enum err_code divide_cells(struct push_batch *batch, enum push_values values,
                                  const struct row *rows, size_t count, struct err *err)
{
    struct view_cell *const cells = calloc(count + 1, sizeof *cells);
    if (!cells)
        return err_nomem(err);
    batch->cells[values] = cells;
    size_t at = 0;
    for (size_t i = 0; i < batch->process_count; i++) {
        struct push_process *const process = &batch->processes[i];
        const size_t begin = at;
        for (; at < count && rows[at].process == process->first; at++)
            cells[at] = rows[at].cell;
        process->values[values] = (struct push_cells){ &cells[begin], at - begin };
    }
    return ERR_OK;
}

static int by_executable(const void *left, const void *right)
{
    const struct push_process *const a = left;
    const struct push_process *const b = right;
    const int order = strcmp(a->executable, b->executable);
    return order != 0 ? order : by_id(a, b);
}

static enum err_code fill_batch(struct push_batch *batch, const struct session_info *info,
                                const struct measured *all, const char *host,
                                const struct push_settings *settings, struct err *err)
{
    const size_t processes = (size_t)batch->snapshot->sizes.processes + 1;
    size_t most = 0;
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        most = all->cells[i].count > most ? all->cells[i].count : most;
    struct row *const rows = calloc(most + 1, sizeof *rows);
    thread_id *const first = calloc(processes, sizeof *first);
    process_id *const leaders = malloc(processes * sizeof *leaders);
    enum err_code rc = rows && first && leaders ? ERR_OK : err_nomem(err);
    if (!rc) {
        memset(leaders, 0xff, processes * sizeof *leaders);
        rc = name_processes(batch, all, info, host, settings, leaders, err);
    }
    if (!rc) {
        /* Processes with equal labels become one, under the first of them: a receiver takes a
         * second profile of the same labels and time for the first one again, and drops it. */
        struct push_process *const united = batch->processes;
        size_t kept = 0;
        qsort(united, batch->process_count, sizeof *united, by_labels);
        for (size_t i = 0; i < batch->process_count; i++) {
            const process_id id = united[i].first;
            if (kept == 0 ||
                push_labels_compare(&united[kept - 1].labels, &united[i].labels) != 0)
                united[kept++] = united[i];
            leaders[id] = united[kept - 1].first;
        }
        batch->process_count = kept;
        qsort(united, kept, sizeof *united, by_id);
    }
    for (enum push_values values = PUSH_CPU; values < PUSH_VALUES && !rc; values++) {
        memset(first, 0xff, processes * sizeof *first);
        const size_t count =
            select_rows(batch, &all->cells[push_measure(values)], values, leaders, first, rows);
        rc = divide_cells(batch, values, rows, count, err);
    }
    if (!rc)
        qsort(batch->processes, batch->process_count, sizeof *batch->processes, by_executable);
    for (size_t i = 0; i < MEASURE_COUNT; i++)
        for (size_t j = 0; j < all->cells[i].count; j++)
            batch->samples += all->cells[i].cells[j].count;
    free(rows);
    free(first);
    free(leaders);
    return rc;
}

static enum err_code anonymize_batch(struct push_batch *batch, const struct session_info *info,
                                     struct err *err)
{
    static const struct view_query everything = { 0 };
    struct report_header header;
    struct report_source source = { .snapshot = batch->snapshot,
                                    .query = &everything,
                                    .session = info };
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc)
        return rc;
    source.header = &header;
    rc = anonymized_init(&batch->anonymized, &source, err);
    report_header_deinit(&header);
    if (!rc)
        batch->snapshot = &batch->anonymized.snapshot;
    return rc;
}

enum err_code push_batch_init(struct push_batch *batch, const struct session_info *info,
                              uint64_t from_ns, uint64_t to_ns, const char *host,
                              const struct push_settings *settings, struct err *err)
{
    static const unsigned labels[] = { [PUSH_SAMPLES_NONE] = 0,
                                       [PUSH_SAMPLES_THREAD] = PPROF_THREAD,
                                       [PUSH_SAMPLES_STATE] = PPROF_STATE | PPROF_PART,
                                       [PUSH_SAMPLES_THREAD_STATE] =
                                           PPROF_THREAD | PPROF_STATE | PPROF_PART };
    const struct view_query range = { .from_ns = from_ns, .to_ns = to_ns };
    const struct session_info *named = info;
    struct measured measured;
    memset(batch, 0, sizeof *batch);
    batch->began_at_ns = info->status.started_at_ns + from_ns;
    batch->duration_ns = to_ns - from_ns;
    batch->sample_labels = labels[settings->sample_labels];
    /* The time that a sample of the range stands for, as in reports: a window of an older capture may not say it. */
    const struct report_source source = { .snapshot = info->snapshot,
                                          .query = &range,
                                          .session = info };
    struct report_header header;
    enum err_code rc = report_header_init(&header, &source, err);
    if (rc)
        return rc;
    batch->periods[PUSH_CPU] = batch->periods[PUSH_WALL] = header.period_ns;
    report_header_deinit(&header);
    struct frame_filters filters = info->filters ? *info->filters : (struct frame_filters){ 0 };
    filters.shows_contexts = true;
    if (filters.waits == WAIT_MARKS_HIDDEN)
        batch->sample_labels &= ~(unsigned)PPROF_PART;
    struct profile_snapshot every = *info->snapshot;
    every.beside = every.measures & ~MEASURE_SET(MEASURE_TIME);
    rc = reshaped_init(&batch->reshaped, &every, &range, &filters, RESHAPED_SUM, err);
    if (rc)
        return rc;
    batch->snapshot = &batch->reshaped.snapshot;
    if (settings->anonymizes) {
        rc = anonymize_batch(batch, info, err);
        named = &batch->anonymized.session;
        host = NULL;
    }
    if (!rc)
        rc = measured_init(&measured, batch, err);
    if (!rc) {
        rc = fill_batch(batch, named, &measured, host, settings, err);
        measured_deinit(&measured);
    }
    if (rc)
        push_batch_deinit(batch);
    return rc;
}

const char *push_type(const struct push_batch *batch, enum push_values values)
{
    return values == PUSH_CPU
               ? "cpu"
               : profile_measure(batch->snapshot, push_measure(values))->pprof_type;
}

const char *push_unit(const struct push_batch *batch, enum push_values values)
{
    return profile_measure(batch->snapshot, push_measure(values))->pprof_unit;
}

/* Pyroscope compares times in milliseconds (storage v1) or nanoseconds (v2). */
uint64_t push_part_ns(uint64_t left_ns)
{
    const uint64_t ns = left_ns / 1024 > NS_PER_MS ? left_ns / 1024 : NS_PER_MS;
    return 2 * ns < left_ns ? ns : left_ns / 2;
}

void push_batch_deinit(struct push_batch *batch)
{
    free(batch->processes);
    for (size_t i = 0; i < PUSH_VALUES; i++)
        free(batch->cells[i]);
    anonymized_deinit(&batch->anonymized);
    if (batch->reshaped.profile)
        reshaped_deinit(&batch->reshaped);
    memset(batch, 0, sizeof *batch);
}
