#include "server/report/slices.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/profile/window.h"
#include "server/report/header.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"

enum { MIN_PART_RUNS = 64 };

static bool is_requested(const struct view_query *query, const struct window *window)
{
    return window->generation > query->since && window->start_ns >= query->from_ns &&
           (query->to_ns == 0 || window->start_ns < query->to_ns) && window->cell_count > 0;
}

/* Windows with cells, joined so that there are not too many. */
static enum err_code cut_slices(struct slices *slices, struct err *err)
{
    const struct profile_snapshot *const snapshot = slices->source->snapshot;
    const struct view_query *const query = slices->source->query;
    size_t wanted = 0, seen = 0;
    for (size_t i = 0; i < snapshot->window_count; i++)
        wanted += is_requested(query, snapshot->windows[i]);
    const size_t joined = wanted / SLICES_MAX + 1;
    slices->items = calloc(wanted / joined + 2, sizeof *slices->items);
    if (!slices->items)
        return err_nomem(err);
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const struct window *const window = snapshot->windows[i];
        if (!is_requested(query, window))
            continue;
        struct slice *slice = &slices->items[slices->count];
        if (seen++ % joined == 0) {
            if (slices->count > 0)
                slice[-1].to_ns = window->start_ns;
            slices->count++;
            slice->from_ns = slice->start_ns = window->start_ns;
            slice->to_ns = query->to_ns;
        } else {
            slice--;
        }
        slice->end_ns = window->end_ns;
    }
    return ERR_OK;
}

static enum err_code find_threads(struct slices *slices, struct err *err)
{
    struct view_cells cells;
    const size_t rows = slices->source->snapshot->sizes.threads;
    const enum err_code rc =
        view_cells_init(&cells, slices->source->snapshot, slices->source->query, err);
    if (rc)
        return rc;
    slices->threads = malloc((rows + 1) * sizeof *slices->threads);
    slices->samples = calloc(rows + 1, sizeof *slices->samples);
    slices->ns = calloc(rows + 1, sizeof *slices->ns);
    if (slices->threads && slices->samples && slices->ns)
        for (size_t i = 0; i < cells.count; i++) {
            if (i == 0 || cells.cells[i].thread != cells.cells[i - 1].thread)
                slices->threads[slices->thread_count++] = cells.cells[i].thread;
            slices->samples[slices->thread_count - 1] += cells.cells[i].count;
            slices->ns[slices->thread_count - 1] +=
                view_cell_ns(&cells.cells[i], slices->period_ns);
        }
    view_cells_deinit(&cells);
    return slices->threads && slices->samples && slices->ns ? ERR_OK : err_nomem(err);
}

enum err_code slices_init(struct slices *slices, const struct report_source *source,
                          size_t max_runs, struct err *err)
{
    memset(slices, 0, sizeof *slices);
    slices->source = source;
    slices->period_ns = source->header->period_ns;
    enum err_code rc = cut_slices(slices, err);
    if (!rc) {
        /* Nothing is laid outside of what was selected: processes join and end within windows. */
        const struct report_header *const header = slices->source->header;
        for (size_t i = 0; i < slices->count; i++) {
            struct slice *const slice = &slices->items[i];
            if (slice->end_ns <= header->from_ns || slice->start_ns >= header->to_ns)
                continue;
            if (slice->start_ns < header->from_ns)
                slice->start_ns = header->from_ns;
            if (slice->end_ns > header->to_ns)
                slice->end_ns = header->to_ns;
        }
    }
    if (!rc)
        rc = find_threads(slices, err);

    /* Each part has the same share of the runs. */
    const size_t parts = slices->count * slices->thread_count + 1;
    slices->part_runs = max_runs / parts;
    if (max_runs && slices->part_runs < MIN_PART_RUNS)
        slices->part_runs = MIN_PART_RUNS;

    if (rc)
        slices_deinit(slices);
    return rc;
}

void slices_deinit(struct slices *slices)
{
    free(slices->items);
    free(slices->threads);
    free(slices->samples);
    free(slices->ns);
    memset(slices, 0, sizeof *slices);
}

static int compare_nodes(const struct view_cell *a, const struct view_cell *b,
                         const struct preorder *order)
{
    const uint32_t x = order->position[a->node], y = order->position[b->node];
    return (x > y) - (x < y);
}

static int by_tree(const void *a, const void *b, void *order)
{
    return compare_nodes(a, b, order);
}

static int by_state(const void *left, const void *right, void *order)
{
    const struct view_cell *const a = left, *const b = right;
    return a->state != b->state ? (a->state > b->state) - (a->state < b->state)
                                : compare_nodes(a, b, order);
}

/* Places cells one after the other; if they stand for more time than the slice has, each gets less. */
static void lay_out(const struct slices *slices, const struct slice *slice,
                    struct slice_part *part)
{
    const uint64_t room_ns = slice->end_ns - slice->start_ns;
    uint64_t wanted_ns = 0, before_ns = 0;
    for (size_t i = 0; i < part->cells.count; i++)
        wanted_ns += view_cell_ns(&part->cells.cells[i], slices->period_ns);
    const double scale = wanted_ns > room_ns ? (double)room_ns / (double)wanted_ns : 1;
    for (size_t i = 0; i < part->cells.count; i++) {
        part->times[i].start_ns = slice->start_ns + (uint64_t)((double)before_ns * scale);
        before_ns += view_cell_ns(&part->cells.cells[i], slices->period_ns);
        part->times[i].end_ns = slice->start_ns + (uint64_t)((double)before_ns * scale);
    }
}

static enum err_code take_cells(struct slices *slices, const struct slice *slice,
                                const struct view_query *query, enum slices_order by,
                                const struct preorder *order, struct slice_part *out,
                                struct err *err)
{
    const enum err_code rc = view_cells_init(&out->cells, slices->source->snapshot, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < out->cells.count; i++)
        slices->unordered_samples += out->cells.cells[i].count;

    size_t kept = 0;
    qsort_r(out->cells.cells, out->cells.count, sizeof *out->cells.cells,
            by == SLICES_BY_TREE ? by_tree : by_state, (void *)(uintptr_t)order);

    if (by == SLICES_BY_TREE) {
        for (size_t i = 0; i < out->cells.count; i++) {
            if (kept > 0 && out->cells.cells[kept - 1].node == out->cells.cells[i].node) {
                out->cells.cells[kept - 1].count += out->cells.cells[i].count;
                out->cells.cells[kept - 1].ns += out->cells.cells[i].ns;
            } else {
                out->cells.cells[kept++] = out->cells.cells[i];
            }
        }
        out->cells.count = kept;
    }

    out->times = calloc(out->cells.count + 1, sizeof *out->times);
    if (!out->times)
        return err_nomem(err);
    lay_out(slices, slice, out);
    return ERR_OK;
}

static enum err_code take_runs(const struct slices *slices, const struct slice *slice,
                               const struct view_runs *runs, struct slice_part *out,
                               struct err *err)
{
    out->cells.cells = malloc((runs->count + 1) * sizeof *out->cells.cells);
    out->times = calloc(runs->count + 1, sizeof *out->times);
    if (!out->cells.cells || !out->times)
        return err_nomem(err);

    /* A sample stands for the time before it.  A run begins where the one before it ends if that is
     * near, and is as long as its samples stand for. */
    const uint64_t room_ns = slice->end_ns - slice->start_ns;
    uint64_t at_ns = slice->start_ns, wanted_ns = 0;
    for (size_t i = 0; i < runs->count; i++) {
        const struct view_run *const run = &runs->runs[i];
        const uint64_t ns = view_cell_ns(&run->cell, slices->period_ns);
        const uint64_t each_ns = ns / run->cell.count;
        if (run->first_ns > at_ns + each_ns + each_ns / 2)
            at_ns = run->first_ns - each_ns;
        out->cells.cells[i] = run->cell;
        out->times[i] = (struct slice_time){ at_ns, at_ns + ns };
        at_ns += ns;
        wanted_ns += ns;
    }
    out->cells.count = runs->count;
    if (wanted_ns > room_ns)
        lay_out(slices, slice, out);
    else {
        /* A run that would end after the slice ends earlier, and so do those before it. */
        uint64_t limit_ns = slice->end_ns;
        for (size_t i = out->cells.count; i-- > 0 && out->times[i].end_ns > limit_ns;) {
            struct slice_time *const time = &out->times[i];
            const uint64_t ns = time->end_ns - time->start_ns;
            time->end_ns = limit_ns;
            time->start_ns = limit_ns = limit_ns - ns;
        }
    }
    return ERR_OK;
}

enum err_code slices_part(struct slices *slices, size_t index, thread_id thread,
                          enum slices_order by, const struct preorder *order,
                          struct slice_part *out, struct err *err)
{
    const struct slice *const slice = &slices->items[index];
    struct view_query query = *slices->source->query;
    struct view_runs runs = { 0 };
    enum err_code rc = ERR_NOT_FOUND;
    query.from_ns = slice->from_ns;
    query.to_ns = slice->to_ns;
    query.threads = &thread;
    query.thread_count = 1;
    *out = (struct slice_part){ 0 };
    if (slices->part_runs)
        rc = view_runs_init(&runs, slices->source->snapshot, &query, err);
    if (!rc && runs.count <= slices->part_runs)
        rc = take_runs(slices, slice, &runs, out, err);
    else if (!rc || rc == ERR_NOT_FOUND)
        rc = take_cells(slices, slice, &query, by, order, out, err);
    view_runs_deinit(&runs);
    if (rc)
        slice_part_deinit(out);
    return rc;
}

void slices_put_note(struct buffer *out, uint64_t unordered, uint64_t samples)
{
    const double share = samples ? 100 * (double)unordered / (double)samples : 0;
    if (unordered >= samples && samples)
        buffer_text(out, " · not in order of time");
    else if (unordered)
        buffer_printf(out, " · %s%.0f %% not in order of time", share < 1 ? "< " : "",
                      share < 1 ? 1 : share);
}

void slice_part_deinit(struct slice_part *part)
{
    view_cells_deinit(&part->cells);
    free(part->times);
    part->times = NULL;
}
