#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/tally.h"
#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/views/view.h"

/* Marks such as <native> lie between the frames of caller and callee. */
enum { MAX_MARKS = 8 };

bool view_spot_caller(const struct profile_snapshot *snapshot, node_id *node, spot_id *spot)
{
    const uint32_t caller = profile_spot_at(snapshot, *spot).caller;
    node_id at = *node;
    if (!caller)
        return false;
    const function_id function = profile_spot_at(snapshot, caller - 1).function;
    for (int marks = 0; marks <= MAX_MARKS && at != 0;) {
        at = profile_node_at(snapshot, at).parent;
        const frame_id frame = profile_node_at(snapshot, at).frame;
        const function_id found = profile_frame_at(snapshot, frame).function;
        if (at != 0 && found == function) {
            *node = at;
            *spot = caller - 1;
            return true;
        }
        /* Native frames are as many as their run has. */
        marks += profile_function_at(snapshot, found).library == 0;
    }
    return false;
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
        return err_nomem(err);
    for (uint32_t i = 0; i < tally->count; i++)
        spots[i] = (struct view_spot){ .node = spot_key_node(tally->cells[i].key),
                                       .spot = spot_key_spot(tally->cells[i].key),
                                       .self = tally->cells[i].count,
                                       .total = tally->cells[i].count };
    qsort(spots, tally->count, sizeof *spots, compare_spots);
    *out = (struct view_spots){ .count = tally->count, .spots = spots };
    return ERR_OK;
}

enum err_code view_spots_init(struct view_spots *spots, const struct profile_snapshot *snapshot,
                              const struct view_query *query, struct err *err)
{
    struct cell_filter filter;
    struct tally tally;
    if (view_query_leaves_out_spots(query))
        return err_set(err, ERR_INVALID,
                       "instructions cannot be chosen by thread, process, state or request");
    tally_init(&tally, VIEW_MAX_CELLS);
    enum err_code rc = cell_filter_init(&filter, snapshot, query, err);
    if (!rc) {
        for (size_t i = filter.first; i < filter.end; i++) {
            const struct window *const window = filter.snapshot->windows[i];
            for (size_t j = 0; j < window->spot_count && !rc; j++) {
                const struct spot_cell *const cell = &window->spots[j];
                rc = tally_add(&tally, spot_key(cell->node, cell->spot), cell->count, 0, err);
            }
        }
    }
    if (!rc) {
        const uint32_t innermost = tally.count;
        rc = ERR_OK;
        for (uint32_t i = 0; i < innermost && !rc; i++) {
            node_id node = spot_key_node(tally.cells[i].key);
            spot_id spot = spot_key_spot(tally.cells[i].key);
            uint32_t before = UINT32_MAX;
            while (!rc && tally.count != before && view_spot_caller(snapshot, &node, &spot)) {
                before = tally.count;
                rc = tally_add(&tally, spot_key(node, spot), 0, 0, err);
            }
        }
    }
    if (!rc)
        rc = take_spots(&tally, spots, err);
    if (!rc) {
        /* Callers have smaller ids than the spots that they call. */
        for (size_t i = spots->count; i-- > 0;) {
            struct view_spot caller = spots->spots[i];
            if (!view_spot_caller(snapshot, &caller.node, &caller.spot))
                continue;
            struct view_spot *const found =
                bsearch(&caller, spots->spots, spots->count, sizeof caller, compare_spots);
            if (found)
                found->total += spots->spots[i].total;
        }
    }
    cell_filter_deinit(&filter);
    tally_deinit(&tally);
    return rc;
}

void view_spots_deinit(struct view_spots *spots)
{
    free(spots->spots);
    memset(spots, 0, sizeof *spots);
}
