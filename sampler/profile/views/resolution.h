/*
 * resolution - the widths of a session's windows, from its beginning to its end.
 *
 * Ownership: plain data.
 * Threads: any, each on its own snapshot.
 * Limits: RESOLUTION_MAX_RANGES; with more, the last range extends to the end and has the greatest
 * width.
 * Units: nanoseconds since the profile was created.
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
        uint64_t width_ns; /* of the steps that windows were merged into; 0: as sealed */
        size_t windows;
        uint64_t sealed;             /* windows sealed, before merging */
    } ranges[RESOLUTION_MAX_RANGES]; /* oldest first */
};

void resolution_of(const struct profile_snapshot *snapshot, struct resolution *out);

#endif /* SAMPLER_PROFILE_VIEWS_RESOLUTION_H */
