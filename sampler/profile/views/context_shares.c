#include "sampler/profile/views/context_shares.h"

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
    const struct context_share *const a = left, *const b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return strcmp(a->text.variable, b->text.variable);
}

/* sums: by function, of the marks. */
static void count_cells(struct context_shares *shares, const struct profile_snapshot *snapshot,
                        const struct view_cells *cells, struct sums *sums)
{
    for (size_t i = 0; i < cells->count; i++) {
        const struct view_cell *const cell = &cells->cells[i];
        struct context_text text = { .mark = CONTEXT_MARK_UNKNOWN };
        enum part part;
        if (!profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part))
            continue;
        const function_id function = context_function_of_node(snapshot, cell->node);
        if (function && context_of_function(snapshot, function, &text)) {
            sums[function].samples += cell->count;
            sums[function].running += part == PART_RUNNING ? cell->count : 0;
        }
        shares->samples += cell->count;
        shares->by_mark[text.mark] += cell->count;
    }
}

static enum err_code list_contexts(struct context_shares *shares,
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
        struct context_share *const item = &shares->items[shares->count];
        if (sums[id].samples == 0 || !context_of_function(snapshot, id, &item->text))
            continue;
        item->samples = sums[id].samples;
        item->running = sums[id].running;
        shares->count++;
    }
    qsort(shares->items, shares->count, sizeof *shares->items, compare_shares);
    return ERR_OK;
}

enum err_code context_shares_init(struct context_shares *shares,
                                  const struct profile_snapshot *snapshot,
                                  const struct view_query *query, struct err *err)
{
    struct view_cells cells = { 0 };
    *shares = (struct context_shares){ 0 };
    struct sums *const sums = calloc((size_t)snapshot->sizes.functions + 1, sizeof *sums);
    enum err_code rc = sums ? view_cells_init(&cells, snapshot, query, err) : err_nomem(err);
    if (!rc) {
        count_cells(shares, snapshot, &cells, sums);
        rc = list_contexts(shares, snapshot, sums, err);
        view_cells_deinit(&cells);
    }
    free(sums);
    return rc;
}

void context_shares_deinit(struct context_shares *shares)
{
    free(shares->items);
    *shares = (struct context_shares){ 0 };
}
