#include "server/report/slices.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/window.h"
#include "server/report/header.h"
#include "server/report/preorder.h"
#include "server/report/report.h"

static bool is_requested(const struct view_query *query, const struct window *window)
{
    return window->generation > query->since && window->start_ns >= query->from_ns &&
           (query->to_ns == 0 || window->start_ns < query->to_ns) && window->cell_count > 0;
}

/* Windows with cells, joined so that there are not too many. */
static enum err_code cut(struct slices *slices, struct err *err)
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

/* Nothing is laid outside of what was selected: processes join and end within windows. */
static void clip(struct slices *slices)
{
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

static enum err_code find_threads(struct slices *slices, struct err *err)
{
    struct view_cells cells;
    const size_t rows = slices->source->snapshot->sizes.threads;
    const enum err_code rc =
        view_cells_init(&cells, slices->source->snapshot, slices->source->query, err);
    if (rc != ERR_OK)
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
                report_cell_ns(&cells.cells[i], slices->period_ns);
        }
    view_cells_deinit(&cells);
    return slices->threads && slices->samples && slices->ns ? ERR_OK : err_nomem(err);
}

enum err_code slices_init(struct slices *slices, const struct report_source *source,
                          struct err *err)
{
    memset(slices, 0, sizeof *slices);
    slices->source = source;
    slices->period_ns = report_period_ns(source);
    enum err_code rc = cut(slices, err);
    if (rc == ERR_OK)
        clip(slices);
    if (rc == ERR_OK)
        rc = find_threads(slices, err);
    if (rc != ERR_OK)
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

enum err_code slices_part(const struct slices *slices, size_t index, thread_id thread,
                          struct slice_part *out, struct err *err)
{
    const struct slice *const slice = &slices->items[index];
    struct view_query query = *slices->source->query;
    uint64_t wanted_ns = 0;
    query.from_ns = slice->from_ns;
    query.to_ns = slice->to_ns;
    query.threads = &thread;
    query.thread_count = 1;
    const enum err_code rc =
        view_cells_init(&out->cells, slices->source->snapshot, &query, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < out->cells.count; i++)
        wanted_ns += report_cell_ns(&out->cells.cells[i], slices->period_ns);
    const uint64_t room_ns = slice->end_ns - slice->start_ns;
    out->start_ns = slice->start_ns;
    out->scale = wanted_ns > room_ns ? (double)room_ns / (double)wanted_ns : 1;
    return ERR_OK;
}

uint64_t slice_part_at_ns(const struct slice_part *part, uint64_t ns)
{
    return part->start_ns + (uint64_t)((double)ns * part->scale);
}

static int compare(const struct view_cell *a, const struct view_cell *b,
                   const struct preorder *order)
{
    const uint32_t x = order->position[a->node], y = order->position[b->node];
    return (x > y) - (x < y);
}

static int by_tree(const void *a, const void *b, void *order)
{
    return compare(a, b, order);
}

static int by_state(const void *left, const void *right, void *order)
{
    const struct view_cell *const a = left, *const b = right;
    return a->state != b->state ? (a->state > b->state) - (a->state < b->state)
                                : compare(a, b, order);
}

void slice_part_by_tree(struct slice_part *part, const struct preorder *order)
{
    struct view_cells *const cells = &part->cells;
    size_t kept = 0;
    qsort_r(cells->cells, cells->count, sizeof *cells->cells, by_tree,
            (void *)(uintptr_t)order);
    for (size_t i = 0; i < cells->count; i++) {
        if (kept > 0 && cells->cells[kept - 1].node == cells->cells[i].node) {
            cells->cells[kept - 1].count += cells->cells[i].count;
            cells->cells[kept - 1].ns += cells->cells[i].ns;
        } else {
            cells->cells[kept++] = cells->cells[i];
        }
    }
    cells->count = kept;
}

void slice_part_by_state(struct slice_part *part, const struct preorder *order)
{
    qsort_r(part->cells.cells, part->cells.count, sizeof *part->cells.cells, by_state,
            (void *)(uintptr_t)order);
}
