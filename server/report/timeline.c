#include "server/report/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/window.h"
#include "server/report/preorder.h"
#include "server/report/report.h"

static bool is_asked_for(const struct view_query *query, const struct window *window)
{
    return window->generation > query->since && window->start_ns >= query->from_ns &&
           (query->to_ns == 0 || window->start_ns < query->to_ns) && window->cell_count > 0;
}

/* Windows with cells, joined so that there are not too many. */
static enum err_code cut(struct timeline *timeline, struct err *err)
{
    const struct profile_snapshot *const snapshot = timeline->source->snapshot;
    const struct view_query *const query = timeline->source->query;
    size_t wanted = 0, seen = 0;
    for (size_t i = 0; i < snapshot->window_count; i++)
        wanted += is_asked_for(query, snapshot->windows[i]);
    const size_t joined = wanted / TIMELINE_MAX_SLICES + 1;
    timeline->slices = calloc(wanted / joined + 2, sizeof *timeline->slices);
    if (!timeline->slices)
        return err_set(err, ERR_NOMEM, "no memory for %zu windows", wanted);
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const struct window *const window = snapshot->windows[i];
        if (!is_asked_for(query, window))
            continue;
        struct timeline_slice *slice = &timeline->slices[timeline->slice_count];
        if (seen++ % joined == 0) {
            if (timeline->slice_count > 0)
                slice[-1].to_ns = window->start_ns;
            timeline->slice_count++;
            slice->from_ns = slice->start_ns = window->start_ns;
            slice->to_ns = query->to_ns;
        } else {
            slice--;
        }
        slice->end_ns = window->end_ns;
    }
    return ERR_OK;
}

static enum err_code find_threads(struct timeline *timeline, struct err *err)
{
    struct view_cells cells;
    const size_t rows = timeline->source->snapshot->sizes.threads;
    const enum err_code rc =
        view_cells_init(&cells, timeline->source->snapshot, timeline->source->query, err);
    if (rc != ERR_OK)
        return rc;
    timeline->threads = malloc((rows + 1) * sizeof *timeline->threads);
    timeline->samples = calloc(rows + 1, sizeof *timeline->samples);
    if (timeline->threads && timeline->samples)
        for (size_t i = 0; i < cells.count; i++) {
            if (i == 0 || cells.cells[i].thread != cells.cells[i - 1].thread)
                timeline->threads[timeline->thread_count++] = cells.cells[i].thread;
            timeline->samples[timeline->thread_count - 1] += cells.cells[i].count;
        }
    view_cells_deinit(&cells);
    return timeline->threads && timeline->samples
               ? ERR_OK
               : err_set(err, ERR_NOMEM, "no memory for %zu threads", rows);
}

enum err_code timeline_init(struct timeline *timeline, const struct report_source *source,
                            struct err *err)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->source = source;
    timeline->period_ns = report_period_ns(source);
    enum err_code rc = cut(timeline, err);
    if (rc == ERR_OK)
        rc = find_threads(timeline, err);
    if (rc != ERR_OK)
        timeline_deinit(timeline);
    return rc;
}

void timeline_deinit(struct timeline *timeline)
{
    free(timeline->slices);
    free(timeline->threads);
    free(timeline->samples);
    memset(timeline, 0, sizeof *timeline);
}

enum err_code timeline_part(const struct timeline *timeline, size_t index, thread_id thread,
                            struct timeline_part *out, struct err *err)
{
    const struct timeline_slice *const slice = &timeline->slices[index];
    struct view_query query = *timeline->source->query;
    uint64_t samples = 0;
    query.from_ns = slice->from_ns;
    query.to_ns = slice->to_ns;
    query.threads = &thread;
    query.thread_count = 1;
    const enum err_code rc =
        view_cells_init(&out->cells, timeline->source->snapshot, &query, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < out->cells.count; i++)
        samples += out->cells.cells[i].count;
    const double room = (double)(slice->end_ns - slice->start_ns);
    const double wanted = (double)samples * (double)timeline->period_ns;
    out->start_ns = slice->start_ns;
    out->sample_ns =
        wanted > room && samples > 0 ? room / (double)samples : (double)timeline->period_ns;
    return ERR_OK;
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

void timeline_part_by_tree(struct timeline_part *part, const struct preorder *order)
{
    struct view_cells *const cells = &part->cells;
    size_t kept = 0;
    qsort_r(cells->cells, cells->count, sizeof *cells->cells, by_tree,
            (void *)(uintptr_t)order);
    for (size_t i = 0; i < cells->count; i++) {
        if (kept > 0 && cells->cells[kept - 1].node == cells->cells[i].node)
            cells->cells[kept - 1].count += cells->cells[i].count;
        else
            cells->cells[kept++] = cells->cells[i];
    }
    cells->count = kept;
}

void timeline_part_by_state(struct timeline_part *part, const struct preorder *order)
{
    qsort_r(part->cells.cells, part->cells.count, sizeof *part->cells.cells, by_state,
            (void *)(uintptr_t)order);
}
