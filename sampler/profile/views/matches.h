/*
 * matches - counts for every window the samples whose stack has one of the wanted functions.
 *
 * Ownership: the caller's storage; matches_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the nodes of the session plus the cells of the windows.
 * Limits: MATCHES_MAX_SLOTS windows, the last of the range.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_VIEWS_MATCHES_H
#define SAMPLER_PROFILE_VIEWS_MATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct profile_snapshot;
struct view_query;

enum { MATCHES_MAX_SLOTS = 4096 };

struct matches {
    size_t count;
    struct match_slot {
        uint64_t start_ns, end_ns;
        uint64_t samples, matching;
    } * slots; /* oldest first */
};

/* wanted: a byte for each function of the snapshot.  Takes windows that overlap the time of the query, of whatever
 * generation. */
MUST_CHECK enum err_code matches_init(struct matches *matches,
                                      const struct profile_snapshot *snapshot,
                                      const struct view_query *query,
                                      const unsigned char *wanted, struct err *err);
void matches_deinit(struct matches *matches);

#endif /* SAMPLER_PROFILE_VIEWS_MATCHES_H */
