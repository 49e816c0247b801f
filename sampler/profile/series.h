/*
 * series - samples by what threads were doing, in steps of 20 ms, beside the windows.
 *
 * Windows are too long for a picture of what happens within a second.  The series counts all
 * threads together, so it is small: the newest SERIES_FINE_SECONDS seconds in bins of 20 ms, and
 * all of the session in steps of a second, which double in length each time that there are
 * SERIES_MAX_STEPS of them.  It never takes more than 6 MB.
 *
 * Ownership: the caller's storage holds the struct; series_deinit accepts a zeroed one.
 * Threads: none; profile.c guards it.
 * Limits: a bin counts to UINT32_MAX and stays there.
 * Units: nanoseconds since the profile was created.
 * Depends on: err, states (what a thread can be doing).
 */
#ifndef SAMPLER_PROFILE_SERIES_H
#define SAMPLER_PROFILE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/state.h"

#define SERIES_BIN_NS 20000000ull

enum {
    SERIES_BINS_PER_SECOND = 50,
    SERIES_FINE_SECONDS = 3600,
    SERIES_MAX_STEPS = 1 << 16,
    SERIES_PENDING_BINS = 1024,
};

struct series_bin {
    uint32_t doing[STATE_DOING_COUNT];
};

/* A second in bins. */
struct series_second {
    uint64_t second;     /* since the profile was created */
    uint32_t generation; /* in which it was last added to; 0: never */
    struct series_bin bins[SERIES_BINS_PER_SECOND];
};

struct series_step {
    uint64_t doing[STATE_DOING_COUNT];
};

struct series {
    struct series_second *fine; /* a ring: second s is at s % fine_room */
    size_t fine_room;           /* grows up to SERIES_FINE_SECONDS */
    uint64_t newest_second;
    uint64_t fine_from; /* the first second that is kept fine */
    struct series_step *steps;
    size_t step_count, step_room;
    uint64_t step_seconds; /* 1, 2, 4, ... */
    uint64_t lost;         /* samples for which there was no memory, or that came too late */
};

/* What came since it was last flushed: the writer's own, no lock needed. */
struct series_pending {
    uint64_t first_bin;
    size_t from, to; /* the bins in use; equal: none */
    struct series_bin bins[SERIES_PENDING_BINS];
};

void series_init(struct series *series);
void series_deinit(struct series *series);

/* What has no room is counted as lost; a series is worth no failure. */
void series_add(struct series *series, uint64_t bin, const struct series_bin *counts,
                uint32_t generation);

/* False: the bin is too far from those that wait; flush and try again. */
bool series_pend(struct series_pending *pending, uint64_t bin, enum state_doing doing,
                 uint32_t count);
void series_flush(struct series *series, struct series_pending *pending, uint32_t generation);

/* NULL: not kept (any more), or nothing was seen in it. */
const struct series_second *series_second_at(const struct series *series, uint64_t second);

/* A copy of the seconds from first to before end; of the steps only if those seconds are not all
 * kept fine. */
MUST_CHECK enum err_code series_copy(const struct series *from, uint64_t first, uint64_t end,
                                     struct series *out, struct err *err);

size_t series_bytes(const struct series *series);

#endif /* SAMPLER_PROFILE_SERIES_H */
