/*
 * reshaped - a copy of the samples of a query in a new profile, with filtered stacks.
 *
 * Counters and the length of the session do not change.
 *
 * Ownership: reshaped_deinit frees; it accepts a zeroed one.
 * Threads: none.
 * Limits: those of a profile.
 */
#ifndef SERVER_WIRE_RESHAPED_H
#define SERVER_WIRE_RESHAPED_H

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/reshape.h"

struct frame_filters;
struct view_query;

/* Time of a reshaped profile: windows apart, or only their sum. */
enum reshaped_time { RESHAPED_WINDOWS, RESHAPED_SUM };

struct reshaped {
    struct profile *profile;
    struct profile_snapshot snapshot;
    struct reshape_counts counts;
};

MUST_CHECK enum err_code reshaped_init(struct reshaped *reshaped,
                                       const struct profile_snapshot *from,
                                       const struct view_query *query,
                                       const struct frame_filters *filters,
                                       enum reshaped_time time, struct err *err);
void reshaped_deinit(struct reshaped *reshaped);

#endif /* SERVER_WIRE_RESHAPED_H */
