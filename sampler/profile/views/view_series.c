#include "sampler/profile/views/view_series.h"

#include <stdlib.h>

#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/series.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/window.h"

struct counting {
    const struct cell_filter *filter;
    struct series_bin *bins;
    uint64_t first, end; /* bins */
};

static void count_samples(struct counting *counting, uint64_t bin, enum part part,
                          uint64_t count)
{
    if (bin < counting->first || bin >= counting->end)
        return;
    uint32_t *const counted = &counting->bins[bin - counting->first].parts[part];
    *counted = count < UINT32_MAX - *counted ? *counted + (uint32_t)count : UINT32_MAX;
}

static void count_runs(struct counting *counting, const struct window *window)
{
    for (size_t i = 0; i < window->run_count; i++) {
        const struct window_run *const run = &window->runs[i];
        const struct cell cell = window_run_cell(run);
        enum part part;
        if (!cell_filter_passes(counting->filter, &cell) ||
            !profile_part_at(counting->filter->snapshot, cell.thread, cell.state, cell.node,
                             &part))
            continue;
        for (uint32_t sample = 0; sample < run->count; sample++)
            count_samples(counting,
                          (run->first_ns + sample * (run->step_us * NS_PER_US)) / SERIES_BIN_NS,
                          part, 1);
    }
}

/* Spreads samples evenly; the sum stays what it is. */
static void count_cells(struct counting *counting, const struct window *window)
{
    const uint64_t first = window->start_ns / SERIES_BIN_NS;
    const uint64_t end = (window->end_ns + SERIES_BIN_NS - 1) / SERIES_BIN_NS;
    const uint64_t bins = end > first ? end - first : 1;
    uint64_t sums[PART_COUNT] = { 0 };
    for (size_t i = 0; i < window->cell_count; i++) {
        const struct cell *const cell = &window->cells[i];
        enum part part;
        if (cell_filter_passes(counting->filter, cell) &&
            profile_part_at(counting->filter->snapshot, cell->thread, cell->state, cell->node,
                            &part))
            sums[part] += cell->count;
    }
    const uint64_t from = counting->first > first ? counting->first - first : 0;
    for (uint64_t bin = from; bin < bins && first + bin < counting->end; bin++)
        for (enum part part = 0; part < PART_COUNT; part++)
            count_samples(counting, first + bin, part,
                          sums[part] * (bin + 1) / bins - sums[part] * bin / bins);
}

enum err_code view_series_init(struct series *series, const struct profile_snapshot *snapshot,
                               const struct view_query *query, uint64_t first, uint64_t end,
                               struct err *err)
{
    struct view_query whole = *query;
    struct cell_filter filter;
    whole.from_ns = whole.to_ns = 0;
    whole.since = 0;
    series_init(series);
    if (end <= first)
        return ERR_OK;
    if (end - first > VIEW_SERIES_MAX_SECONDS)
        return err_set(err, ERR_LIMIT, "more than %d seconds of bins", VIEW_SERIES_MAX_SECONDS);
    struct counting counting = { .filter = &filter,
                                 .first = first * SERIES_BINS_PER_SECOND,
                                 .end = end * SERIES_BINS_PER_SECOND };
    counting.bins = calloc(counting.end - counting.first, sizeof *counting.bins);
    if (!counting.bins)
        return err_nomem(err);
    const enum err_code rc = cell_filter_init(&filter, snapshot, &whole, err);
    for (size_t i = filter.first; !rc && i < filter.end; i++) {
        const struct window *const window = snapshot->windows[i];
        if (window->end_ns <= first * NS_PER_S || window->start_ns >= end * NS_PER_S)
            continue;
        if (window_is_ordered(window))
            count_runs(&counting, window);
        else
            count_cells(&counting, window);
    }
    for (uint64_t bin = counting.first; !rc && bin < counting.end; bin++) {
        const struct series_bin *const counted = &counting.bins[bin - counting.first];
        uint64_t samples = 0;
        for (enum part part = 0; part < PART_COUNT; part++)
            samples += counted->parts[part];
        if (samples > 0)
            series_add(series, bin, counted, snapshot->generation);
    }
    cell_filter_deinit(&filter);
    free(counting.bins);
    return rc;
}
