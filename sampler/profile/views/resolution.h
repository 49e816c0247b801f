/*
 * resolution - how fine the windows of a session still are, from its beginning to its end.
 *
 * Ownership: plain data.
 * Threads: any, on a snapshot of one's own.
 * Limits: RESOLUTION_MAX_RANGES; beyond it the last range goes to the end, and its width is that
 * of the coarsest.
 * Units: nanoseconds since the profile was created.
 * Depends on: profile, window.
 */
#ifndef SAMPLER_PROFILE_VIEWS_RESOLUTION_H
#define SAMPLER_PROFILE_VIEWS_RESOLUTION_H

#include <stddef.h>
#include <stdint.h>

struct profile_snapshot;

enum { RESOLUTION_MAX_RANGES = 32 };

struct resolution {
    size_t count;
    struct resolution_range {
        uint64_t start_ns, end_ns;
        uint64_t width_ns; /* of the steps windows were merged into; 0: as they were sealed */
        size_t windows;
        uint64_t sealed;             /* windows that were once */
    } ranges[RESOLUTION_MAX_RANGES]; /* oldest first */
};

void resolution_of(const struct profile_snapshot *snapshot, struct resolution *out);

#endif /* SAMPLER_PROFILE_VIEWS_RESOLUTION_H */
