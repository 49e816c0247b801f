/*
 * timeline - what threads were doing along time: a query's samples by part, in slots.  Waiting tasks are no threads.
 *
 * All slots have the same width.  A window counts entirely in the slot in which it starts, so that slots
 * add up to the view of the same query.  A row has the real start and end of its windows, which may be
 * longer than a slot if they were merged.  Slots in which no window starts have no row.
 *
 * Ownership: the rows belong to the struct; timeline_slots_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the cells of the query's windows.
 * Limits: TIMELINE_MAX_SLOTS rows.
 * Units: nanoseconds since the profile was created.
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
    uint64_t from_ns, to_ns; /* the divided range */
    uint64_t width_ns;
    size_t count;
    struct timeline_slot {
        uint64_t slot; /* it begins at slot * width_ns */
        uint64_t start_ns, end_ns;
        uint64_t samples, ns; /* all samples, and the time that they stand for */
        uint64_t parts[PART_COUNT], parts_ns[PART_COUNT];
        uint64_t in_gc, in_gc_ns; /* of all samples */
    } * rows;                     /* ascending */
};

/* The width of at most `slots` slots that hold the range. */
uint64_t timeline_width_ns(uint64_t from_ns, uint64_t to_ns, size_t slots);
/* Divides the query's range, as far as the session has it, into at most `slots` (1 to
 * TIMELINE_MAX_SLOTS).  With query->since: only slots with samples since then, each complete. */
MUST_CHECK enum err_code timeline_slots_init(struct timeline_slots *timeline,
                                             const struct profile_snapshot *snapshot,
                                             const struct view_query *query, size_t slots,
                                             struct err *err);
void timeline_slots_deinit(struct timeline_slots *timeline);

#endif /* SAMPLER_PROFILE_VIEWS_TIMELINE_H */
