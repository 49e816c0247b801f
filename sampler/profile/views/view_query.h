/*
 * view_query - which cells of a snapshot a view sums: by time, threads, processes, states and generations.
 */
#ifndef SAMPLER_PROFILE_VIEWS_VIEW_QUERY_H
#define SAMPLER_PROFILE_VIEWS_VIEW_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/profile/part.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/state.h"

struct request_set;

/* Zeroed: everything. */
struct view_query {
    uint64_t from_ns;         /* windows that start at or after */
    uint64_t to_ns;           /* windows that start before; 0: no end */
    uint32_t since;           /* only generations after this one (profile_snapshot_since) */
    const thread_id *threads; /* NULL: all; ids that do not exist match nothing */
    size_t thread_count;
    const process_id *processes; /* NULL: all */
    size_t process_count;
    struct state_condition states;
    bool has_cause;
    enum wait_cause
        cause; /* only samples below a mark of it (wait.h), or below none: WAIT_UNKNOWN */
    const struct request_set *requests; /* only samples of these; NULL: all */
};

/* Does it choose samples by what spots do not have: by thread, process, state or request? */
static inline bool view_query_leaves_out_spots(const struct view_query *query)
{
    return query->threads || query->processes || state_condition_is_set(&query->states) ||
           query->requests;
}

#endif /* SAMPLER_PROFILE_VIEWS_VIEW_QUERY_H */
