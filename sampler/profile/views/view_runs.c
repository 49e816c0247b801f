#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/views/view.h"

static void add_runs(const struct cell_filter *filter, const struct window *window,
                     struct view_runs *out)
{
    for (size_t i = 0; i < window->run_count; i++) {
        const struct window_run *const run = &window->runs[i];
        const struct cell cell = window_run_cell(run);
        if (!cell_filter_passes(filter, &cell))
            continue;
        out->runs[out->count++] =
            (struct view_run){ .cell = { .thread = cell.thread,
                                         .node = cell.node,
                                         .state = cell.state,
                                         .count = cell.count,
                                         .ns = window_run_ns(window, run) },
                               .first_ns = run->first_ns,
                               .step_ns = run->step_us * NS_PER_US };
    }
}

static int compare_runs(const void *left, const void *right)
{
    const struct view_run *const a = left, *const b = right;
    if (a->cell.thread != b->cell.thread)
        return a->cell.thread < b->cell.thread ? -1 : 1;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

static enum err_code collect_runs(const struct cell_filter *filter, struct view_runs *out,
                                  struct err *err)
{
    size_t count = 0;
    for (size_t i = filter->first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        if (!window_is_ordered(window))
            return err_set(err, ERR_NOT_FOUND,
                           "it is no longer known when these samples were taken");
        count += window->run_count;
    }
    if (count > VIEW_MAX_CELLS)
        return err_set(err, ERR_LIMIT, "there are more than %d runs of samples",
                       VIEW_MAX_CELLS);
    out->runs = malloc((count + 1) * sizeof *out->runs);
    if (!out->runs)
        return err_nomem(err);
    for (size_t i = filter->first; i < filter->end; i++)
        add_runs(filter, filter->snapshot->windows[i], out);
    qsort(out->runs, out->count, sizeof *out->runs, compare_runs);
    return ERR_OK;
}

enum err_code view_runs_init(struct view_runs *runs, const struct profile_snapshot *snapshot,
                             const struct view_query *query, struct err *err)
{
    struct cell_filter filter;
    *runs = (struct view_runs){ 0 };
    enum err_code rc = cell_filter_init(&filter, snapshot, query, err);
    if (!rc)
        rc = collect_runs(&filter, runs, err);
    cell_filter_deinit(&filter);
    return rc;
}

void view_runs_deinit(struct view_runs *runs)
{
    free(runs->runs);
    *runs = (struct view_runs){ 0 };
}
