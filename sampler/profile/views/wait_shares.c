#include "sampler/profile/views/wait_shares.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"
#include "sampler/profile/views/view.h"

static int compare_shares(const void *left, const void *right)
{
    const struct wait_share *const a = left, *const b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    if (a->wait.cause != b->wait.cause)
        return a->wait.cause < b->wait.cause ? -1 : 1;
    return strcmp(a->wait.detail, b->wait.detail);
}

/* Adds up cells; samples: by function, of the marks. */
static void count_cells(struct wait_shares *shares, const struct profile_snapshot *snapshot,
                        const struct view_cells *cells, uint64_t *samples)
{
    for (size_t i = 0; i < cells->count; i++) {
        const struct view_cell *const cell = &cells->cells[i];
        const frame_id frame = profile_node_at(snapshot, cell->node).frame;
        const function_id function = profile_frame_at(snapshot, frame).function;
        struct wait_text wait;
        enum part part;
        if (!profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part))
            continue;
        shares->samples += cell->count;
        if (part == PART_RUNNING)
            continue;
        if (wait_of_function(snapshot, function, &wait))
            samples[function] += cell->count;
        shares->waiting += cell->count;
        shares->by_cause[wait_cause_of(snapshot, cell->node, part)] += cell->count;
        shares->idle += part == PART_IDLE ? cell->count : 0;
    }
}

static enum err_code list_causes(struct wait_shares *shares,
                                 const struct profile_snapshot *snapshot,
                                 const uint64_t *samples, struct err *err)
{
    size_t room = 0;
    for (function_id id = 0; id < snapshot->sizes.functions; id++)
        room += samples[id] > 0;
    shares->items = calloc(room + 1, sizeof *shares->items);
    if (!shares->items)
        return err_nomem(err);
    for (function_id id = 0; id < snapshot->sizes.functions; id++) {
        struct wait_share *const item = &shares->items[shares->count];
        if (samples[id] == 0 || !wait_of_function(snapshot, id, &item->wait))
            continue;
        item->samples = samples[id];
        shares->count++;
    }
    qsort(shares->items, shares->count, sizeof *shares->items, compare_shares);
    return ERR_OK;
}

enum err_code wait_shares_init(struct wait_shares *shares,
                               const struct profile_snapshot *snapshot,
                               const struct view_query *query, struct err *err)
{
    struct view_cells cells = { 0 };
    *shares = (struct wait_shares){ 0 };
    uint64_t *const samples = calloc((size_t)snapshot->sizes.functions + 1, sizeof *samples);
    enum err_code rc = samples ? view_cells_init(&cells, snapshot, query, err) : err_nomem(err);
    if (!rc) {
        count_cells(shares, snapshot, &cells, samples);
        rc = list_causes(shares, snapshot, samples, err);
        view_cells_deinit(&cells);
    }
    free(samples);
    return rc;
}

void wait_shares_deinit(struct wait_shares *shares)
{
    free(shares->items);
    *shares = (struct wait_shares){ 0 };
}

enum wait_cause wait_shares_main(const struct wait_shares *shares)
{
    enum wait_cause most = WAIT_UNKNOWN;
    for (enum wait_cause cause = WAIT_UNKNOWN + 1; cause < WAIT_CAUSE_COUNT; cause++)
        if (shares->by_cause[cause] > (most ? shares->by_cause[most] : 0))
            most = cause;
    return most;
}
