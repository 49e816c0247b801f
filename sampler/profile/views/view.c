#include "sampler/profile/views/view.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/tally.h"
#include "sampler/profile/views/cell_filter.h"

/* A view of few cells is sorted; one of many is summed in an array of all nodes. */
enum { NODES_PER_CELL = 8 };

struct row {
    node_id node;
    uint64_t self, ns;
};

/* Room for `count` rows. */
static enum err_code allocate_rows(struct view *view, size_t count, bool has_periods,
                                   struct err *err)
{
    view->node = malloc((count + 1) * sizeof *view->node);
    view->self = malloc((count + 1) * sizeof *view->self);
    view->self_ns = has_periods ? malloc((count + 1) * sizeof *view->self_ns) : NULL;
    if (!view->node || !view->self || (has_periods && !view->self_ns))
        return err_nomem(err);
    return ERR_OK;
}

static void add_row(struct view *view, const struct row *row)
{
    if (view->self_ns)
        view->self_ns[view->count] = row->ns;
    view->node[view->count] = row->node;
    view->self[view->count] = row->self;
    view->total += row->self;
    view->total_ns += view_self_ns(view, view->count++);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *const a = left, *const b = right;
    return (a->node > b->node) - (a->node < b->node);
}

static enum err_code fill_sorted(struct view *view, const struct cell_filter *filter,
                                 size_t cells, struct err *err)
{
    struct row *const rows = malloc((cells + 1) * sizeof *rows);
    if (!rows)
        return err_nomem(err);

    size_t taken = 0;
    struct cell_walk walk = { 0 };
    for (const struct cell *cell; (cell = cell_filter_next(filter, &walk));) {
        view->states |= cell->state;
        rows[taken++] = (struct row){ cell->node, cell->count, walk.ns };
    }
    qsort(rows, taken, sizeof *rows, compare_rows);

    /* The first row of each node becomes the sum of its rows. */
    size_t count = 0;
    for (size_t i = 0; i < taken; i++) {
        if (count == 0 || rows[count - 1].node != rows[i].node) {
            rows[count++] = rows[i];
            continue;
        }
        rows[count - 1].self += rows[i].self;
        rows[count - 1].ns += rows[i].ns;
    }

    const enum err_code rc = allocate_rows(view, count, filter->has_periods, err);
    for (size_t i = 0; i < count && !rc; i++)
        add_row(view, &rows[i]);
    free(rows);
    return rc;
}

static enum err_code fill_summed(struct view *view, const struct cell_filter *filter,
                                 size_t nodes, struct err *err)
{
    const size_t columns = filter->has_periods ? 2 : 1;
    uint64_t *const sum = calloc((nodes + 1) * columns, sizeof *sum);
    if (!sum)
        return err_nomem(err);
    uint64_t *const ns = filter->has_periods ? sum + nodes + 1 : NULL;

    size_t count = 0;
    struct cell_walk walk = { 0 };
    for (const struct cell *cell; (cell = cell_filter_next(filter, &walk));) {
        view->states |= cell->state;
        count += sum[cell->node] == 0;
        sum[cell->node] += cell->count;
        if (ns)
            ns[cell->node] += walk.ns;
    }

    const enum err_code rc = allocate_rows(view, count, filter->has_periods, err);
    for (size_t i = 0; i < nodes && !rc; i++)
        if (sum[i])
            add_row(view, &(struct row){ (node_id)i, sum[i], ns ? ns[i] : 0 });
    free(sum);
    return rc;
}

enum err_code view_init(struct view *view, const struct profile_snapshot *snapshot,
                        const struct view_query *query, struct err *err)
{
    struct view made = { .generation = snapshot->generation };
    struct cell_filter filter;
    enum err_code rc = cell_filter_init(&filter, snapshot, query, err);
    if (!rc) {
        const size_t nodes = filter.snapshot->sizes.nodes;
        size_t cells = 0;
        for (size_t i = filter.first; i < filter.end; i++)
            cells += filter.snapshot->windows[i]->cell_count;
        made.period_ns = filter.has_periods ? 0 : filter.period_ns;
        rc = cells < nodes / NODES_PER_CELL ? fill_sorted(&made, &filter, cells, err)
                                            : fill_summed(&made, &filter, nodes, err);
    }
    cell_filter_deinit(&filter);
    if (rc)
        view_deinit(&made);
    else
        *view = made;
    return rc;
}

void view_deinit(struct view *view)
{
    free(view->node);
    free(view->self);
    free(view->self_ns);
    memset(view, 0, sizeof *view);
}

void view_totals(const struct view *view, const struct profile_snapshot *snapshot,
                 uint64_t *total)
{
    const uint32_t nodes = snapshot->sizes.nodes;
    if (nodes)
        memset(total, 0, nodes * sizeof *total);
    for (size_t i = 0; i < view->count; i++)
        total[view->node[i]] = view->self[i];
    /* Parents come before children: backwards, a node is complete before it is added to its parent. */
    for (node_id id = nodes; id-- > 1;)
        total[profile_node_at(snapshot, id).parent] += total[id];
}

static int compare_cells(const void *left, const void *right)
{
    const struct view_cell *const a = left;
    const struct view_cell *const b = right;
    return cell_key_order(cell_key(a->thread, a->state, a->node),
                          cell_key(b->thread, b->state, b->node));
}

static enum err_code take_cells(const struct tally *tally, struct view_cells *out,
                                struct err *err)
{
    struct view_cell *const cells = malloc(((size_t)tally->count + 1) * sizeof *cells);
    if (!cells)
        return err_nomem(err);
    for (uint32_t i = 0; i < tally->count; i++) {
        const struct tally_cell *const from = &tally->cells[i];
        cells[i] = (struct view_cell){
            .thread = cell_key_thread(from->key),
            .node = cell_key_node(from->key),
            .state = cell_key_state(from->key),
            .count = from->count,
            .ns = from->ns,
        };
    }
    qsort(cells, tally->count, sizeof *cells, compare_cells);
    *out = (struct view_cells){ .count = tally->count, .cells = cells };
    return ERR_OK;
}

enum err_code view_cells_init(struct view_cells *cells, const struct profile_snapshot *snapshot,
                              const struct view_query *query, struct err *err)
{
    struct cell_filter filter;
    struct tally tally;
    tally_init(&tally, VIEW_MAX_CELLS);
    enum err_code rc = cell_filter_init(&filter, snapshot, query, err);
    struct cell_walk walk = { 0 };
    for (const struct cell *cell; !rc && (cell = cell_filter_next(&filter, &walk));)
        rc = tally_add(&tally, cell_key(cell->thread, cell->state, cell->node), cell->count,
                       walk.ns, err);
    if (!rc)
        rc = take_cells(&tally, cells, err);
    cell_filter_deinit(&filter);
    tally_deinit(&tally);
    return rc;
}

void view_cells_deinit(struct view_cells *cells)
{
    free(cells->cells);
    memset(cells, 0, sizeof *cells);
}

uint64_t view_cell_ns(const struct view_cell *cell, uint64_t period_ns)
{
    return cell->ns > 0 ? cell->ns : cell->count * period_ns;
}
