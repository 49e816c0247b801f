/*
 * memory_slots - the memory and page faults of processes along time, in slots: a query's part of the log (memory_log.h).
 *
 * Slots are those of the timeline.  A step counts entirely in the slot in which it starts.  A slot has the memory at its end, the highest
 * memory in it, and all faults in it.  Slots in which no step starts have no row.
 *
 * Ownership: the rows belong to the struct; memory_slots_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Limits: TIMELINE_MAX_SLOTS rows; the MEMORY_MAX_PROCESSES processes with the highest peaks have rows of their own.
 * Units: bytes; nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_VIEWS_MEMORY_SLOTS_H
#define SAMPLER_PROFILE_VIEWS_MEMORY_SLOTS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"

struct profile_snapshot;
struct view_query;

enum { MEMORY_MAX_PROCESSES = 16 };

struct memory_amounts {
    uint64_t rss_bytes, swap_bytes; /* at the end */
    uint64_t minor_faults, major_faults;
};

struct memory_slot {
    uint64_t slot; /* it begins at slot * width_ns */
    uint64_t start_ns, end_ns;
    struct memory_amounts all;
    uint64_t peak_bytes; /* the highest RSS of all; of chosen processes together at most that */
    uint64_t
        limit_bytes; /* of all their control groups together; 0: one has none, or it is unknown */
    struct memory_amounts processes[MEMORY_MAX_PROCESSES];
};

struct memory_slots {
    uint64_t from_ns, to_ns; /* the divided range */
    uint64_t width_ns;
    size_t count;
    struct memory_slot *rows; /* ascending */
    size_t process_count;
    process_id processes[MEMORY_MAX_PROCESSES]; /* the one with the highest peak first */
    uint64_t peak_bytes[MEMORY_MAX_PROCESSES];  /* theirs */
    size_t others;                              /* processes without rows */
};

/* Divides the query's range, as far as the session has it, into at most `slots`.  Of the query, the range and the processes count. */
MUST_CHECK enum err_code memory_slots_init(struct memory_slots *memory,
                                           const struct profile_snapshot *snapshot,
                                           const struct view_query *query, size_t slots,
                                           struct err *err);
void memory_slots_deinit(struct memory_slots *memory);

#endif /* SAMPLER_PROFILE_VIEWS_MEMORY_SLOTS_H */
