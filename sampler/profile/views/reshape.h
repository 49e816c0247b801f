/*
 * reshape - other trees made of views: several sessions as one, frames filtered, names replaced.
 *
 * reshape_add counts the samples of a query into the open window of another profile.  Functions are
 * the same if name, file and first line are.  The result is a profile like any other: seal it, take a
 * snapshot, and every view and every report works.  To keep ranges of time apart, add them one after
 * the other with a profile_seal in between.
 *
 *     for (size_t i = 0; i < count && !rc; i++)
 *         rc = reshape_add(into, &snapshots[i], &queries[i], &settings, NULL, err);
 *     rc = rc ? rc : profile_seal(into, end_ns, err);
 *
 * Ownership: borrows everything.
 * Threads: the writer of `into`, on its own snapshot of another profile.
 * Cost: proportional to the cells of the query and the tables of `from`.
 * Limits: those of a profile; at ERR_LIMIT a part of the samples has been added.
 */
#ifndef SAMPLER_PROFILE_VIEWS_RESHAPE_H
#define SAMPLER_PROFILE_VIEWS_RESHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/reshape_rows.h"

struct frame_filters;
struct view_query;

/* Zeroed: changes nothing. */
struct reshape_settings {
    const struct frame_filters *filters; /* NULL: none */
    const struct reshape_names *names;   /* NULL: names stay; filters see the old names */
    const struct reshape_places *places; /* NULL: they stay; filters see the old ones */
};

struct reshape_counts {
    uint64_t samples;  /* added */
    uint64_t filtered; /* left out by the filters */
};

/* Do the filters change a view of the profile?  A profile without libraries has no native frames. */
bool reshape_is_needed(const struct profile_snapshot *from,
                       const struct frame_filters *filters);

/* settings and counts may be NULL; adds to counts. */
MUST_CHECK enum err_code reshape_add(struct profile *into, const struct profile_snapshot *from,
                                     const struct view_query *query,
                                     const struct reshape_settings *settings,
                                     struct reshape_counts *counts, struct err *err);

/* Adds the windows of the measures beside `from` as measures of `into`, which must be new.  The next seal publishes them. */
MUST_CHECK enum err_code reshape_measures(struct profile *into,
                                          const struct profile_snapshot *from,
                                          const struct view_query *query,
                                          const struct reshape_settings *settings,
                                          struct err *err);

/* Adds the profile window by window, each sealed at its end, after the measures beside it. `into` must be new; it gets the
 * times and the counters of `from`. */
MUST_CHECK enum err_code reshape_windows(struct profile *into,
                                         const struct profile_snapshot *from,
                                         const struct view_query *query,
                                         const struct reshape_settings *settings,
                                         struct reshape_counts *counts, struct err *err);

#endif /* SAMPLER_PROFILE_VIEWS_RESHAPE_H */
