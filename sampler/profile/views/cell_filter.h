/*
 * cell_filter - a prepared query: decides cell by cell whether the query includes it.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct and keeps the snapshot; cell_filter_deinit accepts
 * one whose init failed.
 */
#ifndef SAMPLER_PROFILE_VIEWS_CELL_FILTER_H
#define SAMPLER_PROFILE_VIEWS_CELL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/request_choice.h"
#include "sampler/profile/views/view_query.h"
#include "sampler/profile/window.h"

struct cell_filter {
    const struct profile_snapshot *snapshot;
    size_t first, end;     /* the windows of the query */
    unsigned char *wanted; /* a byte for each thread; NULL: all threads */
    struct state_condition states;
    bool has_cause;
    enum wait_cause cause;
    const struct request_set *requests; /* NULL: all samples */
    uint64_t period_ns;                 /* of all samples, if it is the same */
    bool has_periods;                   /* the windows have different ones */
};

MUST_CHECK enum err_code cell_filter_init(struct cell_filter *filter,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query, struct err *err);
void cell_filter_deinit(struct cell_filter *filter);

/* Is the window in the time and the generations of the query? */
static inline bool cell_filter_has_window(const struct view_query *query,
                                          const struct window *window)
{
    return window->generation > query->since && window->start_ns >= query->from_ns &&
           (query->to_ns == 0 || window->start_ns < query->to_ns);
}

/* Is the cell in one of the parts of the query? */
static inline bool cell_filter_has_part(const struct cell_filter *filter,
                                        const struct cell *cell)
{
    enum part part;
    return profile_part_at(filter->snapshot, cell->thread, cell->state, cell->node, &part) &&
           part_set_has(filter->states.parts, part);
}

static inline bool cell_filter_passes(const struct cell_filter *filter, const struct cell *cell)
{
    return state_passes(&filter->states, cell->state) &&
           (!filter->wanted || filter->wanted[cell->thread]) &&
           (!filter->states.parts || cell_filter_has_part(filter, cell)) &&
           (!filter->has_cause ||
            profile_cause_at(filter->snapshot, cell->node) == filter->cause) &&
           (!filter->requests || request_set_has(filter->requests, cell->node));
}

/* A walk over the cells that pass, window by window; zeroed, it begins. */
struct cell_walk {
    size_t windows, cells; /* passed before the window, and in it */
    uint64_t ns;           /* what the samples of the cell stand for */
};

/* NULL: there are no more. */
const struct cell *cell_filter_next(const struct cell_filter *filter, struct cell_walk *walk);

#endif /* SAMPLER_PROFILE_VIEWS_CELL_FILTER_H */
