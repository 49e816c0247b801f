/*
 * thread_runs - what one thread did in the order of time, as finely as a chart shows it.
 *
 * Where windows have runs (window.h), rows are these: each lasts until its last sample, from the end of the
 * one before it if that is near.  In other windows the order is unknown: the cells are placed one after
 * the other, the callees of a function by the samples of the whole query, largest first.
 *
 * Rows that are narrower than a slot become one row in each slot, that of the place with the most time.
 *
 * Ownership: the rows belong to the struct; thread_runs_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the windows of the query; windows without runs also to the nodes of the session.
 * Limits: about two rows for each slot.  Of the places in a slot, the first THREAD_RUNS_MAX_PLACES count.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_VIEWS_THREAD_RUNS_H
#define SAMPLER_PROFILE_VIEWS_THREAD_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"

struct view_query;

enum { THREAD_RUNS_MAX_PLACES = 32, THREAD_RUNS_USUAL_SLOTS = 1024 };

struct thread_runs {
    uint64_t from_ns, to_ns;
    size_t count, room;
    struct thread_run {
        uint64_t start_ns, end_ns;
        node_id node;
        state_bits state;
        bool is_ordered; /* false: it is unknown when these samples were taken */
        uint32_t runs;   /* in it */
    } * rows;            /* ascending, without overlap */
};

/* Unlike other views, includes the parts of windows that lie in the time of the query.  ERR_INVALID: the
 * query does not choose one thread, by one or several of its ids. */
MUST_CHECK enum err_code thread_runs_init(struct thread_runs *runs,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query, size_t slots,
                                          struct err *err);
void thread_runs_deinit(struct thread_runs *runs);

#endif /* SAMPLER_PROFILE_VIEWS_THREAD_RUNS_H */
