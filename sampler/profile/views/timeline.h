/*
 * timeline - what threads were doing along time: a query's samples by state, in slots.
 *
 * A slot is a step of one width; a window is counted in the slot it starts in, whole, so that the
 * slots add up to the view of the same query.  A row tells from when to when its windows
 * really last: where old windows have become longer than a slot, rows are as long as they are.
 * Slots in which nothing started have no row.
 *
 * Ownership: the rows belong to the struct; timeline_slots_deinit accepts a zeroed one.
 * Threads: any, on a snapshot of one's own.
 * Cost: proportional to the cells of the windows asked for.
 * Limits: TIMELINE_MAX_SLOTS rows.
 * Units: nanoseconds since the profile was created.
 * Depends on: profile, window, view (the query), states.
 */
#ifndef SAMPLER_PROFILE_VIEWS_TIMELINE_H
#define SAMPLER_PROFILE_VIEWS_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/states.h"

struct profile_snapshot;
struct view_query;

enum { TIMELINE_MAX_SLOTS = 4096, TIMELINE_USUAL_SLOTS = 512 };

struct timeline_slots {
    uint64_t from_ns, to_ns; /* the range that was divided */
    uint64_t width_ns;
    size_t count;
    struct timeline_slot {
        uint64_t slot; /* it begins at slot * width_ns */
        uint64_t start_ns, end_ns;
        uint64_t samples, ns; /* in all, and the time they stand for */
        uint64_t doing[STATE_DOING_COUNT], doing_ns[STATE_DOING_COUNT];
        uint64_t in_gc, in_gc_ns; /* of all of them */
    } * rows;                     /* ascending */
};

/* Divides the query's range, or what there is of it, into at most `slots` (1 to
 * TIMELINE_MAX_SLOTS).  With query->since only slots that have news since then, whole. */
MUST_CHECK enum err_code timeline_slots_init(struct timeline_slots *timeline,
                                             const struct profile_snapshot *snapshot,
                                             const struct view_query *query, size_t slots,
                                             struct err *err);
void timeline_slots_deinit(struct timeline_slots *timeline);

#endif /* SAMPLER_PROFILE_VIEWS_TIMELINE_H */
