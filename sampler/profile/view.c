#include "sampler/profile/view.h"

#include <stdlib.h>
#include <string.h>

/* A set of small ids; bits NULL holds all. */
struct id_set {
    unsigned char *bits;
    uint32_t count;
};

static bool set_has(const struct id_set *set, uint32_t id)
{
    return !set->bits || (id < set->count && (set->bits[id / 8] >> id % 8 & 1));
}

/* Which threads a query asks for, its processes included. */
static enum err_code select_threads(struct id_set *set, const struct profile_snapshot *snapshot,
                                    const struct view_query *query, struct err *err)
{
    const uint32_t count = snapshot->sizes.threads;
    *set = (struct id_set){ NULL, count };
    if (!query->threads && !query->processes)
        return ERR_OK;
    set->bits = calloc(count / 8 + 1, 1);
    if (!set->bits)
        return err_set(err, ERR_NOMEM, "no memory for a view");
    for (size_t i = 0; query->threads && i < query->thread_count; i++)
        if (query->threads[i] < count)
            set->bits[query->threads[i] / 8] |= (unsigned char)(1u << query->threads[i] % 8);
    for (thread_id id = 0; query->processes && id < count; id++) {
        const process_id process = profile_thread_at(snapshot, id).process;
        bool wanted = false;
        for (size_t i = 0; i < query->process_count; i++)
            wanted = wanted || query->processes[i] == process;
        const unsigned char bit = (unsigned char)(1u << id % 8);
        if (wanted && !query->threads)
            set->bits[id / 8] |= bit;
        else if (!wanted)
            set->bits[id / 8] &= (unsigned char)~bit;
    }
    return ERR_OK;
}

static bool wants_window(const struct view_query *query, const struct window *window)
{
    return window->generation > query->since && window->start_ns >= query->from_ns &&
           (!query->to_ns || window->start_ns < query->to_ns);
}

static bool wants_cell(const struct view_query *query, const struct id_set *threads,
                       const struct cell *cell)
{
    return (cell->state & query->require) == query->require &&
           !(cell->state & query->exclude) && set_has(threads, cell->thread);
}

static void sum(const struct profile_snapshot *snapshot, const struct view_query *query,
                const struct id_set *threads, uint64_t *self)
{
    for (size_t w = 0; w < snapshot->window_count; w++) {
        const struct window *const window = snapshot->windows[w];
        if (!wants_window(query, window))
            continue;
        for (size_t i = 0; i < window->cell_count; i++)
            if (wants_cell(query, threads, &window->cells[i]))
                self[window->cells[i].node] += window->cells[i].count;
    }
}

/* The nodes that have samples, of a column that has all. */
static enum err_code gather(struct view *view, const uint64_t *self, uint32_t nodes,
                            struct err *err)
{
    size_t count = 0;
    for (node_id node = 0; node < nodes; node++)
        count += self[node] != 0;
    view->node = malloc((count + 1) * sizeof *view->node);
    view->self = malloc((count + 1) * sizeof *view->self);
    if (!view->node || !view->self) {
        view_deinit(view);
        return err_set(err, ERR_NOMEM, "no memory for a view of %zu nodes", count);
    }
    for (node_id node = 0; node < nodes; node++) {
        if (!self[node])
            continue;
        view->node[view->count] = node;
        view->self[view->count++] = self[node];
        view->total += self[node];
    }
    return ERR_OK;
}

enum err_code view_init(struct view *view, const struct profile_snapshot *snapshot,
                        const struct view_query *query, struct err *err)
{
    const uint32_t nodes = snapshot->sizes.nodes;
    struct id_set threads;
    *view = (struct view){ .generation = snapshot->generation };
    enum err_code rc = select_threads(&threads, snapshot, query, err);
    if (rc)
        return rc;
    uint64_t *const self = calloc((size_t)nodes + 1, sizeof *self);
    if (!self)
        rc = err_set(err, ERR_NOMEM, "no memory for a view of %u nodes", nodes);
    if (!rc) {
        sum(snapshot, query, &threads, self);
        rc = gather(view, self, nodes, err);
    }
    free(self);
    free(threads.bits);
    return rc;
}

void view_deinit(struct view *view)
{
    free(view->node);
    free(view->self);
    memset(view, 0, sizeof *view);
}

void view_totals(const struct view *view, const struct profile_snapshot *snapshot,
                 uint64_t *total)
{
    memset(total, 0, (size_t)snapshot->sizes.nodes * sizeof *total);
    for (size_t i = 0; i < view->count; i++)
        total[view->node[i]] = view->self[i];
    /* Parents come before children, so one pass from the end sums all subtrees. */
    for (node_id node = snapshot->sizes.nodes; node-- > 1;)
        total[profile_node_at(snapshot, node).parent] += total[node];
}

static int compare_cells(const void *left, const void *right)
{
    const struct view_cell *const a = left, *const b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->state != b->state)
        return a->state < b->state ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static void merge_equal(struct view_cells *cells)
{
    size_t kept = 0;
    for (size_t i = 0; i < cells->count; i++) {
        if (kept && compare_cells(&cells->cells[kept - 1], &cells->cells[i]) == 0)
            cells->cells[kept - 1].count += cells->cells[i].count;
        else
            cells->cells[kept++] = cells->cells[i];
    }
    cells->count = kept;
}

static size_t count_cells(const struct profile_snapshot *snapshot,
                          const struct view_query *query)
{
    size_t count = 0;
    for (size_t w = 0; w < snapshot->window_count; w++)
        if (wants_window(query, snapshot->windows[w]))
            count += snapshot->windows[w]->cell_count;
    return count;
}

static void collect_cells(struct view_cells *out, const struct profile_snapshot *snapshot,
                          const struct view_query *query, const struct id_set *threads)
{
    for (size_t w = 0; w < snapshot->window_count; w++) {
        const struct window *const window = snapshot->windows[w];
        if (!wants_window(query, window))
            continue;
        for (size_t i = 0; i < window->cell_count; i++) {
            const struct cell *const cell = &window->cells[i];
            if (wants_cell(query, threads, cell))
                out->cells[out->count++] =
                    (struct view_cell){ cell->thread, cell->node, cell->state, cell->count };
        }
    }
}

enum err_code view_cells_init(struct view_cells *cells, const struct profile_snapshot *snapshot,
                              const struct view_query *query, struct err *err)
{
    struct id_set threads;
    const size_t most = count_cells(snapshot, query);
    *cells = (struct view_cells){ 0 };
    const enum err_code rc = select_threads(&threads, snapshot, query, err);
    if (rc)
        return rc;
    cells->cells = malloc((most + 1) * sizeof *cells->cells);
    if (!cells->cells) {
        free(threads.bits);
        return err_set(err, ERR_NOMEM, "no memory for %zu cells", most);
    }
    collect_cells(cells, snapshot, query, &threads);
    qsort(cells->cells, cells->count, sizeof *cells->cells, compare_cells);
    merge_equal(cells);
    free(threads.bits);
    return ERR_OK;
}

void view_cells_deinit(struct view_cells *cells)
{
    free(cells->cells);
    *cells = (struct view_cells){ 0 };
}
