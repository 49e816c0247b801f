#include "sampler/profile/view.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/tally.h"

/* A query made ready to be asked of one cell after the other. */
struct filter {
    const struct profile_snapshot *snapshot;
    size_t first, end;     /* the windows to look at */
    unsigned char *wanted; /* a byte a thread; NULL: all of them */
    state_bits require, exclude;
};

/* The windows [0, result) are not after `since` or start before `start_ns`. */
static size_t windows_before(const struct profile_snapshot *snapshot, uint32_t since,
                             uint64_t start_ns)
{
    size_t low = 0, high = snapshot->window_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct window *const window = snapshot->windows[middle];
        if (window->generation <= since || window->start_ns < start_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* A byte a row, 1 for those listed; NULL if there is no list. */
static enum err_code mark(const uint32_t *ids, size_t id_count, uint32_t rows,
                          unsigned char **out, struct err *err)
{
    if (!ids)
        return ERR_OK;
    unsigned char *const marks = calloc((size_t)rows + 1, 1);
    if (!marks)
        return err_set(err, ERR_NOMEM, "no memory for %u rows", rows);
    for (size_t i = 0; i < id_count; i++)
        if (ids[i] < rows)
            marks[ids[i]] = 1;
    *out = marks;
    return ERR_OK;
}

static enum err_code mark_all(uint32_t rows, unsigned char **out, struct err *err)
{
    unsigned char *const marks = malloc((size_t)rows + 1);
    if (!marks)
        return err_set(err, ERR_NOMEM, "no memory for %u rows", rows);
    memset(marks, 1, (size_t)rows + 1);
    *out = marks;
    return ERR_OK;
}

/* Threads of a process that is not listed are not wanted. */
static void keep_processes(const struct profile_snapshot *snapshot,
                           const unsigned char *processes, unsigned char *threads)
{
    for (thread_id id = 0; id < snapshot->sizes.threads; id++)
        threads[id] &= processes[profile_thread_at(snapshot, id).process];
}

static enum err_code mark_threads(struct filter *filter, const struct view_query *query,
                                  struct err *err)
{
    const struct profile_sizes *const sizes = &filter->snapshot->sizes;
    unsigned char *processes = NULL;
    enum err_code rc =
        mark(query->threads, query->thread_count, sizes->threads, &filter->wanted, err);
    if (!rc)
        rc = mark(query->processes, query->process_count, sizes->processes, &processes, err);
    if (!rc && processes && !filter->wanted)
        rc = mark_all(sizes->threads, &filter->wanted, err);
    if (!rc && processes)
        keep_processes(filter->snapshot, processes, filter->wanted);
    free(processes);
    return rc;
}

static enum err_code filter_init(struct filter *filter, const struct profile_snapshot *snapshot,
                                 const struct view_query *query, struct err *err)
{
    *filter = (struct filter){
        .snapshot = snapshot,
        .first = windows_before(snapshot, query->since, query->from_ns),
        .end =
            query->to_ns ? windows_before(snapshot, 0, query->to_ns) : snapshot->window_count,
        .require = query->require,
        .exclude = query->exclude,
    };
    return mark_threads(filter, query, err);
}

static void filter_deinit(struct filter *filter)
{
    free(filter->wanted);
}

static bool passes(const struct filter *filter, const struct cell *cell)
{
    return (cell->state & filter->require) == filter->require &&
           !(cell->state & filter->exclude) &&
           (!filter->wanted || filter->wanted[cell->thread]);
}

/* Adds the cells that pass to sum, a number a node.  Returns how many are not 0 any more. */
static size_t sum_nodes(const struct filter *filter, uint64_t *sum)
{
    size_t count = 0;
    for (size_t i = filter->first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        for (size_t j = 0; j < window->cell_count; j++) {
            const struct cell *const cell = &window->cells[j];
            if (!passes(filter, cell))
                continue;
            count += sum[cell->node] == 0;
            sum[cell->node] += cell->count;
        }
    }
    return count;
}

/* Makes the columns of the numbers that are not 0; there are at most `count`. */
static enum err_code compact(struct view *view, const uint64_t *sum, size_t nodes, size_t count,
                             struct err *err)
{
    view->node = malloc((count + 1) * sizeof *view->node);
    view->self = malloc((count + 1) * sizeof *view->self);
    if (!view->node || !view->self)
        return err_set(err, ERR_NOMEM, "no memory for a view of %zu nodes", count);
    for (size_t i = 0; i < nodes; i++) {
        if (!sum[i])
            continue;
        view->node[view->count] = (node_id)i;
        view->self[view->count++] = sum[i];
        view->total += sum[i];
    }
    return ERR_OK;
}

static enum err_code fill(struct view *view, const struct filter *filter, struct err *err)
{
    const size_t nodes = filter->snapshot->sizes.nodes;
    uint64_t *const sum = calloc(nodes + 1, sizeof *sum);
    if (!sum)
        return err_set(err, ERR_NOMEM, "no memory to add up %zu nodes", nodes);
    const size_t count = sum_nodes(filter, sum);
    const enum err_code rc = compact(view, sum, nodes, count, err);
    free(sum);
    return rc;
}

enum err_code view_init(struct view *view, const struct profile_snapshot *snapshot,
                        const struct view_query *query, struct err *err)
{
    struct view made = { .generation = snapshot->generation };
    struct filter filter;
    enum err_code rc = filter_init(&filter, snapshot, query, err);
    if (!rc)
        rc = fill(&made, &filter, err);
    filter_deinit(&filter);
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
    /* Parents come before children: walking back, a node is complete before it is passed on. */
    for (node_id id = nodes; id-- > 1;)
        total[profile_node_at(snapshot, id).parent] += total[id];
}

static enum err_code tally_cells(const struct filter *filter, struct tally *tally,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = filter->first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        for (size_t j = 0; j < window->cell_count && !rc; j++) {
            const struct cell *const cell = &window->cells[j];
            if (passes(filter, cell))
                rc = tally_add(tally, cell_key(cell->thread, cell->state, cell->node),
                               cell->count, err);
        }
    }
    return rc;
}

static int compare(const void *left, const void *right)
{
    const struct view_cell *const a = left;
    const struct view_cell *const b = right;
    return cell_key_order(cell_key(a->thread, a->state, a->node),
                          cell_key(b->thread, b->state, b->node));
}

static struct view_cell cell_of(const struct tally_cell *from)
{
    return (struct view_cell){
        .thread = cell_key_thread(from->key),
        .node = cell_key_node(from->key),
        .state = cell_key_state(from->key),
        .count = from->count,
    };
}

static enum err_code take_cells(const struct tally *tally, struct view_cells *out,
                                struct err *err)
{
    struct view_cell *const cells = malloc(((size_t)tally->count + 1) * sizeof *cells);
    if (!cells)
        return err_set(err, ERR_NOMEM, "no memory for %u cells", tally->count);
    for (uint32_t i = 0; i < tally->count; i++)
        cells[i] = cell_of(&tally->cells[i]);
    qsort(cells, tally->count, sizeof *cells, compare);
    *out = (struct view_cells){ .count = tally->count, .cells = cells };
    return ERR_OK;
}

enum err_code view_cells_init(struct view_cells *cells, const struct profile_snapshot *snapshot,
                              const struct view_query *query, struct err *err)
{
    struct filter filter;
    struct tally tally;
    tally_init(&tally, VIEW_MAX_CELLS);
    enum err_code rc = filter_init(&filter, snapshot, query, err);
    if (!rc)
        rc = tally_cells(&filter, &tally, err);
    if (!rc)
        rc = take_cells(&tally, cells, err);
    filter_deinit(&filter);
    tally_deinit(&tally);
    return rc;
}

void view_cells_deinit(struct view_cells *cells)
{
    free(cells->cells);
    memset(cells, 0, sizeof *cells);
}

static enum err_code tally_spots(const struct filter *filter, struct tally *tally,
                                 struct err *err)
{
    enum err_code rc = ERR_OK;
    for (size_t i = filter->first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        for (size_t j = 0; j < window->spot_count && !rc; j++) {
            const struct spot_cell *const cell = &window->spots[j];
            rc = tally_add(tally, spot_key(cell->node, cell->spot), cell->count, err);
        }
    }
    return rc;
}

static int compare_spots(const void *left, const void *right)
{
    const struct view_spot *const a = left;
    const struct view_spot *const b = right;
    return cell_key_order(spot_key(a->node, a->spot), spot_key(b->node, b->spot));
}

static enum err_code take_spots(const struct tally *tally, struct view_spots *out,
                                struct err *err)
{
    struct view_spot *const spots = malloc(((size_t)tally->count + 1) * sizeof *spots);
    if (!spots)
        return err_set(err, ERR_NOMEM, "no memory for %u spots", tally->count);
    for (uint32_t i = 0; i < tally->count; i++)
        spots[i] = (struct view_spot){ .node = spot_key_node(tally->cells[i].key),
                                       .spot = spot_key_spot(tally->cells[i].key),
                                       .count = tally->cells[i].count };
    qsort(spots, tally->count, sizeof *spots, compare_spots);
    *out = (struct view_spots){ .count = tally->count, .spots = spots };
    return ERR_OK;
}

enum err_code view_spots_init(struct view_spots *spots, const struct profile_snapshot *snapshot,
                              const struct view_query *query, struct err *err)
{
    struct filter filter;
    struct tally tally;
    if (query->threads || query->processes || query->require || query->exclude)
        return err_set(err, ERR_INVALID,
                       "spots are not told apart by thread, process or state");
    tally_init(&tally, VIEW_MAX_CELLS);
    enum err_code rc = filter_init(&filter, snapshot, query, err);
    if (!rc)
        rc = tally_spots(&filter, &tally, err);
    if (!rc)
        rc = take_spots(&tally, spots, err);
    filter_deinit(&filter);
    tally_deinit(&tally);
    return rc;
}

void view_spots_deinit(struct view_spots *spots)
{
    free(spots->spots);
    memset(spots, 0, sizeof *spots);
}
