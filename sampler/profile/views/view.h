/*
 * view - a query over a snapshot: one number per node.
 *
 * Everything shown is a sum of cells.  A query chooses cells by time, threads, processes, states and
 * generations; a view has, for each node, the samples whose innermost frame is that node.
 *
 * Ownership: the columns belong to the view; view_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the cells touched plus the nodes of the session.
 * Limits: VIEW_MAX_CELLS different cells in a view_cells or view_spots, then ERR_LIMIT.
 */
#ifndef SAMPLER_PROFILE_VIEWS_VIEW_H
#define SAMPLER_PROFILE_VIEWS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view_query.h"
#include "sampler/profile/window.h"

enum { VIEW_MAX_CELLS = 1 << 24 };

struct view {
    uint32_t generation;
    uint64_t total;
    state_bits states; /* that some of its samples have */
    size_t count;
    node_id *node; /* ascending */
    uint64_t *self;
    uint64_t total_ns;  /* that all samples stand for */
    uint64_t period_ns; /* that each sample stands for; 0: unknown, or see self_ns */
    uint64_t *self_ns;  /* by node; NULL: self times period_ns */
};

MUST_CHECK enum err_code view_init(struct view *view, const struct profile_snapshot *snapshot,
                                   const struct view_query *query, struct err *err);
void view_deinit(struct view *view);

/* The time that a row's samples stand for. */
static inline uint64_t view_self_ns(const struct view *view, size_t row)
{
    return view->self_ns ? view->self_ns[row] : view->self[row] * view->period_ns;
}

/* Samples of each node and everything beneath it; total[0] is the sum of all.  `total` must have room
 * for snapshot->sizes.nodes numbers. */
void view_totals(const struct view *view, const struct profile_snapshot *snapshot,
                 uint64_t *total);

/* The cells of the query, summed over time, in the order of a window's cells. */
struct view_cells {
    size_t count;
    struct view_cell {
        thread_id thread;
        node_id node;
        state_bits state;
        uint64_t count;
        uint64_t ns; /* that the samples stand for */
    } * cells;
};

MUST_CHECK enum err_code view_cells_init(struct view_cells *cells,
                                         const struct profile_snapshot *snapshot,
                                         const struct view_query *query, struct err *err);
void view_cells_deinit(struct view_cells *cells);

/* Nanoseconds that the samples of a cell stand for; uses period_ns if its windows have no period. */
uint64_t view_cell_ns(const struct view_cell *cell, uint64_t period_ns);

/* The samples of view_cells in the order of time: by thread, then time. */
struct view_runs {
    size_t count;
    struct view_run {
        struct view_cell cell;
        uint64_t first_ns, step_ns; /* of its samples */
    } * runs;
};

/* ERR_NOT_FOUND: of some window of the query it is not known. */
MUST_CHECK enum err_code view_runs_init(struct view_runs *runs,
                                        const struct profile_snapshot *snapshot,
                                        const struct view_query *query, struct err *err);
void view_runs_deinit(struct view_runs *runs);

/* The spots of the query's time and generations, summed, by node, then spot.  ERR_INVALID: the
 * query chooses threads, processes, states or requests, which spots do not have. */
struct view_spots {
    size_t count;
    struct view_spot {
        node_id node; /* of the frame the spot is in */
        spot_id spot;
        uint64_t self;  /* samples in which that frame was the innermost */
        uint64_t total; /* self, and samples in which it waited for a call */
    } * spots;
};

MUST_CHECK enum err_code view_spots_init(struct view_spots *spots,
                                         const struct profile_snapshot *snapshot,
                                         const struct view_query *query, struct err *err);
void view_spots_deinit(struct view_spots *spots);

/* Moves from a spot and its node to those of its caller; false: the caller is unknown. */
bool view_spot_caller(const struct profile_snapshot *snapshot, node_id *node, spot_id *spot);

#endif /* SAMPLER_PROFILE_VIEWS_VIEW_H */
