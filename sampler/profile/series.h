/*
 * series - samples by part of time, in steps of 20 ms, beside the windows.
 *
 * Windows are too long to show what happens within a second.  The series counts all threads together,
 * so it is small: the newest SERIES_FINE_SECONDS seconds in bins of 20 ms, and the whole session in
 * steps of a second.  Each time that there are SERIES_MAX_STEPS of them, steps double in length.  The
 * series takes at most 6.3 MB.
 *
 * Ownership: the caller's storage holds the struct; series_deinit accepts a zeroed one.
 * Threads: none; profile.c guards it.
 * Limits: a bin counts to UINT32_MAX and stays there.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_SERIES_H
#define SAMPLER_PROFILE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/part.h"

#define SERIES_BIN_NS 20000000ull

enum {
    SERIES_BINS_PER_SECOND = 50,
    SERIES_FINE_SECONDS = 3600,
    SERIES_MAX_STEPS = 1 << 16,
    SERIES_PENDING_BINS = 1024,
};

struct series_bin {
    uint32_t parts[PART_COUNT];
};

/* A second in bins. */
struct series_second {
    uint64_t second;     /* since the profile was created */
    uint32_t generation; /* of the last change; 0: none */
    struct series_bin bins[SERIES_BINS_PER_SECOND];
};

struct series_step {
    uint64_t parts[PART_COUNT];
};

struct series {
    struct series_second *fine; /* a ring: second s is at s % fine_room */
    size_t fine_room;           /* grows up to SERIES_FINE_SECONDS */
    uint64_t newest_second;
    uint64_t fine_from; /* the first second in bins */
    struct series_step *steps;
    size_t step_count, step_room;
    uint64_t step_seconds; /* 1, 2, 4, ... */
    uint64_t lost;         /* samples for which there was no memory, or that came too late */
};

/* Samples since the last flush; only the writer uses it, without a lock. */
struct series_pending {
    uint64_t first_bin;
    size_t from, to; /* the bins in use; equal: none */
    struct series_bin bins[SERIES_PENDING_BINS];
};

void series_init(struct series *series);
void series_deinit(struct series *series);

/* Counts samples without room as lost; never fails. */
void series_add(struct series *series, uint64_t bin, const struct series_bin *counts,
                uint32_t generation);

/* false: the bin is too far from the pending ones; flush and call again. */
bool series_pend(struct series_pending *pending, uint64_t bin, enum part part, uint32_t count);
void series_flush(struct series *series, struct series_pending *pending, uint32_t generation);

/* NULL: that second is no longer in bins, or has no samples. */
const struct series_second *series_second_at(const struct series *series, uint64_t second);

/* Copies the seconds from `first` to before `end`; the steps only if some of these seconds are no
 * longer in bins. */
MUST_CHECK enum err_code series_copy(const struct series *from, uint64_t first, uint64_t end,
                                     struct series *out, struct err *err);

size_t series_bytes(const struct series *series);

#endif /* SAMPLER_PROFILE_SERIES_H */
