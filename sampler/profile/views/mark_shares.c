#include "sampler/profile/views/mark_shares.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/view.h"

/* The samples of a mark. */
struct sums {
    uint64_t samples, running;
};

static int compare_shares(const void *left, const void *right)
{
    const struct mark_share *const a = left, *const b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    if (a->wait.cause != b->wait.cause)
        return a->wait.cause < b->wait.cause ? -1 : 1;
    return a->context.variable ? strcmp(a->context.variable, b->context.variable)
                               : strcmp(a->wait.detail, b->wait.detail);
}

static enum err_code list_items(struct mark_shares *shares, enum mark_kind kind,
                                const struct profile_snapshot *snapshot,
                                const struct sums *sums, struct err *err)
{
    size_t room = 0;
    for (function_id id = 0; id < snapshot->sizes.functions; id++)
        room += sums[id].samples > 0;
    shares->items = calloc(room + 1, sizeof *shares->items);
    if (!shares->items)
        return err_nomem(err);
    for (function_id id = 0; id < snapshot->sizes.functions; id++) {
        struct mark_share *const item = &shares->items[shares->count];
        if (sums[id].samples == 0 ||
            !(kind == MARK_WAITS ? wait_of_function(snapshot, id, &item->wait)
                                 : context_of_function(snapshot, id, &item->context)))
            continue;
        item->samples = sums[id].samples;
        item->running = sums[id].running;
        shares->count++;
    }
    qsort(shares->items, shares->count, sizeof *shares->items, compare_shares);
    return ERR_OK;
}

enum err_code mark_shares_init(struct mark_shares *shares, enum mark_kind kind,
                               const struct profile_snapshot *snapshot,
                               const struct view_query *query, struct err *err)
{
    struct view_cells cells = { 0 };
    *shares = (struct mark_shares){ 0 };
    struct sums *const sums = calloc((size_t)snapshot->sizes.functions + 1, sizeof *sums);
    enum err_code rc = sums ? view_cells_init(&cells, snapshot, query, err) : err_nomem(err);
    if (!rc) {
        for (size_t i = 0; i < cells.count; i++) {
            const struct view_cell *const cell = &cells.cells[i];
            const frame_id frame = profile_node_at(snapshot, cell->node).frame;
            const function_id innermost = profile_frame_at(snapshot, frame).function;
            const function_id above = context_function_of_node(snapshot, cell->node);
            struct context_text context = { .mark = CONTEXT_MARK_UNKNOWN };
            struct wait_text wait;
            enum part part;
            if (!profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part))
                continue;
            shares->samples += cell->count;
            if (above && context_of_function(snapshot, above, &context)) {
                sums[above].samples += cell->count;
                sums[above].running += part == PART_RUNNING ? cell->count : 0;
            }
            shares->by_mark[context.mark] += cell->count;
            if (part == PART_RUNNING)
                continue;
            if (wait_of_function(snapshot, innermost, &wait))
                sums[innermost].samples += cell->count;
            shares->waiting += cell->count;
            shares->by_cause[wait_cause_of(snapshot, cell->node, part)] += cell->count;
            shares->idle += part == PART_IDLE ? cell->count : 0;
        }

        rc = list_items(shares, kind, snapshot, sums, err);
        view_cells_deinit(&cells);
    }
    free(sums);
    return rc;
}

void mark_shares_deinit(struct mark_shares *shares)
{
    free(shares->items);
    *shares = (struct mark_shares){ 0 };
}
