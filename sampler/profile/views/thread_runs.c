#include "sampler/profile/views/thread_runs.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/profile/views/cell_filter.h"

/* Nodes in the order of a tree whose callees stand the heaviest first: 12 bytes for each node of the session, and 20 more
 * while it is sorted. */
struct heavy_order {
    uint64_t *weight;   /* by node; with those below it once it is sorted */
    uint32_t *position; /* by node, of those with a weight */
};

struct child {
    node_id parent, id;
    uint64_t weight;
};

/* By parent, so that parents come first; those of one parent the heaviest first. */
static int compare_children(const void *left, const void *right)
{
    const struct child *const a = left, *const b = right;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static enum err_code heavy_order_sort(struct heavy_order *order,
                                      const struct profile_snapshot *snapshot, struct err *err)
{
    const uint32_t nodes = snapshot->sizes.nodes;
    uint32_t *const size = calloc((size_t)nodes + 1, sizeof *size);
    size_t count = 0;
    order->position = calloc((size_t)nodes + 1, sizeof *order->position);
    if (!size || !order->position) {
        free(size);
        return err_nomem(err);
    }
    /* Parents come before children: backwards, a node is complete before it is added to its parent. */
    for (node_id id = nodes; id-- > 1;) {
        if (!order->weight[id])
            continue;
        const node_id parent = profile_node_at(snapshot, id).parent;
        order->weight[parent] += order->weight[id];
        size[id]++;
        size[parent] += size[id];
        count++;
    }
    struct child *const sorted = malloc((count + 1) * sizeof *sorted);
    if (sorted) {
        count = 0;
        for (node_id id = 1; id < nodes; id++)
            if (order->weight[id])
                sorted[count++] = (struct child){ profile_node_at(snapshot, id).parent, id,
                                                  order->weight[id] };
        qsort(sorted, count, sizeof *sorted, compare_children);

        order->position[0] = 0;
        size[0] = 1;
        for (size_t i = 0; i < count; i++) {
            const struct child *const child = &sorted[i];
            const uint32_t wide = size[child->id];
            order->position[child->id] = size[child->parent];
            size[child->parent] += wide;
            size[child->id] = order->position[child->id] + 1;
        }
    }
    const bool is_sorted = sorted != NULL;
    free(size);
    free(sorted);
    return is_sorted ? ERR_OK : err_nomem(err);
}

/* The rows of one slot that are narrower than it. */
struct narrow {
    struct thread_run row;
    size_t place_count;
    struct place {
        node_id node;
        state_bits state;
        uint64_t ns;
    } places[THREAD_RUNS_MAX_PLACES];
};

struct maker {
    const struct cell_filter *filter;
    struct heavy_order order; /* of the windows without runs */
    struct thread_runs *out;
    uint64_t slot_ns;
    uint64_t at_ns;            /* everything until then is placed */
    struct thread_run last;    /* may go on; runs 0: there is none */
    struct narrow narrow;      /* row.runs 0: there is none */
    struct window_cell *cells; /* of one window without runs */
    size_t cell_room;
    bool is_out_of_memory;
};

struct window_cell {
    uint32_t position;
    const struct cell *cell;
    uint64_t ns;
};

static void push_row(struct maker *maker, struct thread_run row)
{
    struct thread_runs *const out = maker->out;
    if (VEC_RESERVE(out->rows, out->room, out->count + 1))
        out->rows[out->count++] = row;
    else
        maker->is_out_of_memory = true;
}

static void push_narrow(struct maker *maker)
{
    struct narrow *const narrow = &maker->narrow;
    const struct place *most = &narrow->places[0];
    if (!narrow->row.runs)
        return;
    for (size_t i = 1; i < narrow->place_count; i++)
        if (narrow->places[i].ns > most->ns)
            most = &narrow->places[i];
    narrow->row.node = most->node;
    narrow->row.state = most->state;
    push_row(maker, narrow->row);
    narrow->row.runs = 0;
}

/* A row that is complete. */
static void take_row(struct maker *maker, const struct thread_run *row)
{
    struct narrow *const narrow = &maker->narrow;
    if (row->end_ns - row->start_ns >= maker->slot_ns) {
        push_narrow(maker);
        push_row(maker, *row);
        return;
    }
    if (narrow->row.runs &&
        (narrow->row.start_ns / maker->slot_ns != row->start_ns / maker->slot_ns ||
         narrow->row.is_ordered != row->is_ordered))
        push_narrow(maker);
    if (!narrow->row.runs) {
        narrow->row = *row;
        narrow->row.runs = 0;
        narrow->place_count = 0;
    }
    narrow->row.end_ns = row->end_ns;
    narrow->row.runs += row->runs;

    size_t i = 0;
    while (i < narrow->place_count &&
           (narrow->places[i].node != row->node || narrow->places[i].state != row->state))
        i++;
    if (i == THREAD_RUNS_MAX_PLACES)
        return;
    if (i == narrow->place_count)
        narrow->places[narrow->place_count++] =
            (struct place){ .node = row->node, .state = row->state };
    narrow->places[i].ns += row->end_ns - row->start_ns;
}

/* The part of a row that lies in the time of the query; joins it to the one before it if that goes on. */
static void add_row(struct maker *maker, struct thread_run row)
{
    struct thread_run *const last = &maker->last;
    if (row.start_ns < maker->at_ns)
        row.start_ns = maker->at_ns;
    if (row.end_ns > maker->out->to_ns)
        row.end_ns = maker->out->to_ns;
    if (row.start_ns >= row.end_ns)
        return;
    maker->at_ns = row.end_ns;
    if (last->runs && last->node == row.node && last->state == row.state &&
        last->is_ordered == row.is_ordered && last->end_ns == row.start_ns) {
        last->end_ns = row.end_ns;
        return;
    }
    if (last->runs)
        take_row(maker, last);
    *last = row;
}

static int compare_rows(const void *left, const void *right)
{
    const struct window_cell *const a = left, *const b = right;
    return a->position != b->position
               ? (a->position > b->position) - (a->position < b->position)
               : (a->cell->state > b->cell->state) - (a->cell->state < b->cell->state);
}

/* If they stand for more time than the window has, each gets less. */
static void add_cells(struct maker *maker, const struct window *window)
{
    const uint64_t room_ns = window->end_ns - window->start_ns;
    uint64_t wanted_ns = 0, done_ns = 0;
    size_t count = 0;
    if (!VEC_RESERVE(maker->cells, maker->cell_room, window->cell_count)) {
        maker->is_out_of_memory = true;
        return;
    }
    for (size_t i = 0; i < window->cell_count; i++) {
        if (!cell_filter_passes(maker->filter, &window->cells[i]))
            continue;
        const uint64_t ns = window_cell_ns(window, i);
        maker->cells[count++] =
            (struct window_cell){ maker->order.position[window->cells[i].node],
                                  &window->cells[i], ns };
        wanted_ns += ns;
    }
    qsort(maker->cells, count, sizeof *maker->cells, compare_rows);
    const double scale = wanted_ns > room_ns ? (double)room_ns / (double)wanted_ns : 1;
    for (size_t i = 0; i < count; i++) {
        const uint64_t start_ns = window->start_ns + (uint64_t)((double)done_ns * scale);
        done_ns += maker->cells[i].ns;
        add_row(maker, (struct thread_run){ .start_ns = start_ns,
                                            .end_ns = window->start_ns +
                                                      (uint64_t)((double)done_ns * scale),
                                            .node = maker->cells[i].cell->node,
                                            .state = maker->cells[i].cell->state,
                                            .runs = 1 });
    }
}

static enum err_code fill_rows(struct maker *maker, struct err *err)
{
    const struct cell_filter *const filter = maker->filter;
    struct window *const *const windows = filter->snapshot->windows;
    uint64_t end_ns = 0;
    size_t first;
    LOWER_BOUND(first, filter->end, windows[first]->end_ns <= maker->out->from_ns);

    for (size_t i = first; i < filter->end; i++) {
        const struct window *const window = filter->snapshot->windows[i];
        if (window_is_ordered(window))
            continue;
        if (!maker->order.weight) {
            maker->order.weight =
                calloc((size_t)filter->snapshot->sizes.nodes + 1, sizeof *maker->order.weight);
            if (!maker->order.weight)
                return err_nomem(err);
        }
        for (size_t j = 0; j < window->cell_count; j++)
            if (cell_filter_passes(filter, &window->cells[j]))
                maker->order.weight[window->cells[j].node] += window->cells[j].count;
    }
    const enum err_code rc =
        maker->order.weight ? heavy_order_sort(&maker->order, filter->snapshot, err) : ERR_OK;

    if (rc)
        return rc;
    for (size_t i = first; i < filter->end && !maker->is_out_of_memory; i++) {
        const struct window *const window = windows[i];
        if (!window_is_ordered(window))
            add_cells(maker, window);
        for (size_t j = 0; j < window->run_count && window_is_ordered(window); j++) {
            const struct window_run *const run = &window->runs[j];
            const struct cell cell = window_run_cell(run);
            if (!run->count || !cell_filter_passes(maker->filter, &cell))
                continue;
            const uint64_t ns = window_run_ns(window, run), step_ns = run->step_us * NS_PER_US;
            const uint64_t each_ns = ns ? ns / run->count : step_ns;
            const uint64_t before_ns = run->first_ns > each_ns ? run->first_ns - each_ns : 0;
            const bool is_near = end_ns && before_ns <= end_ns + each_ns;
            const uint64_t start_ns = is_near ? end_ns : before_ns;
            end_ns = run->first_ns + (run->count - 1) * step_ns;
            add_row(maker, (struct thread_run){ .start_ns = start_ns,
                                                .end_ns = end_ns,
                                                .node = cell.node,
                                                .state = cell.state,
                                                .is_ordered = true,
                                                .runs = 1 });
        }
    }
    if (maker->last.runs)
        take_row(maker, &maker->last);
    push_narrow(maker);
    return maker->is_out_of_memory ? err_nomem(err) : ERR_OK;
}

static bool is_one_thread(const struct profile_snapshot *snapshot,
                          const struct view_query *query)
{
    for (size_t i = 0; i < query->thread_count; i++) {
        if (query->threads[i] >= snapshot->sizes.threads ||
            query->threads[0] >= snapshot->sizes.threads)
            continue;
        const struct profile_thread a = profile_thread_at(snapshot, query->threads[0]);
        const struct profile_thread b = profile_thread_at(snapshot, query->threads[i]);
        if (a.process != b.process || a.tid != b.tid)
            return false;
    }
    return query->thread_count > 0;
}

enum err_code thread_runs_init(struct thread_runs *runs,
                               const struct profile_snapshot *snapshot,
                               const struct view_query *query, size_t slots, struct err *err)
{
    struct thread_runs made = { .from_ns = query->from_ns, .to_ns = snapshot->end_ns };
    struct view_query whole = *query;
    struct cell_filter filter;
    if (!is_one_thread(snapshot, query))
        return err_set(err, ERR_INVALID, "want the ids of one thread");
    if (query->to_ns && query->to_ns < made.to_ns)
        made.to_ns = query->to_ns;
    whole.from_ns = 0;
    whole.since = 0;
    struct maker maker = { .filter = &filter, .out = &made, .at_ns = made.from_ns };
    const uint64_t span_ns = made.to_ns > made.from_ns ? made.to_ns - made.from_ns : 1;
    maker.slot_ns = span_ns / (slots ? slots : 1) + 1;
    enum err_code rc = cell_filter_init(&filter, snapshot, &whole, err);
    if (!rc)
        rc = fill_rows(&maker, err);
    cell_filter_deinit(&filter);
    free(maker.order.weight);
    free(maker.order.position);
    maker.order = (struct heavy_order){ 0 };
    free(maker.cells);
    if (rc)
        thread_runs_deinit(&made);
    else
        *runs = made;
    return rc;
}

void thread_runs_deinit(struct thread_runs *runs)
{
    free(runs->rows);
    memset(runs, 0, sizeof *runs);
}
