/*
 * publication - what readers may read of a profile: windows, series, and counters, behind one lock.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; it owns the lock, and a reference to each window.
 * Threads: one writer; any thread may copy.  Only the writer changes the list of windows, so it reads
 * that without the lock.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_PUBLICATION_H
#define SAMPLER_PROFILE_PUBLICATION_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/history.h"
#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/quality.h"
#include "sampler/profile/series.h"

struct publication {
    pthread_mutex_t lock;
    uint32_t generation;
    struct profile_sizes sizes;
    struct quality quality;
    uint64_t end_ns;
    size_t table_bytes;
    struct history history;                 /* of time */
    struct history measured[MEASURE_COUNT]; /* of other measures */
    measure_set measures;                   /* that have samples */
    uint64_t sums[MEASURE_COUNT];           /* of all windows, in the unit of the measure */
    struct series series;
    struct memory_log memory;
};

void publication_init(struct publication *publication);
void publication_deinit(struct publication *publication);

/* Takes the window over, unless it fails, and gives it a generation; NULL: publishes only counters and
 * samples of the series. */
MUST_CHECK enum err_code publication_add(struct publication *publication, struct window *window,
                                         const struct quality *quality, size_t table_bytes,
                                         struct series_pending *pending, struct err *err);
/* Takes a window of another measure over, unless it fails.  It belongs to the next generation. */
MUST_CHECK enum err_code publication_add_measured(struct publication *publication,
                                                  enum measure measure, struct window *window,
                                                  struct err *err);
/* Publishes counters and the sizes of tables, as a generation without a window. */
void publication_add_rows(struct publication *publication, const struct profile_sizes *sizes,
                          uint64_t end_ns, const struct quality *quality, size_t table_bytes);
void publication_flush_series(struct publication *publication, struct series_pending *pending);
/* The profile lasted until end_ns, without another window. */
void publication_extend(struct publication *publication, uint64_t end_ns);

/* Merges windows that are old enough, a part of them at a time.  true: no more are left. */
bool publication_merge_old(struct publication *publication, uint64_t now_ns);
/* Merges windows of all measures at half the age from now on.  false: they are as few as possible. */
bool publication_halve_ages(struct publication *publication);
/* Forgets when the oldest samples were taken, until that has freed so many bytes or has done a part of
 * the work.  false: there was nothing to forget. */
bool publication_drop_runs(struct publication *publication, size_t bytes);
/* Bytes held by windows, series and the log of memory.  The caller holds the lock, or is the writer. */
size_t publication_bytes(const struct publication *publication);

MUST_CHECK enum err_code publication_add_memory(struct publication *publication,
                                                const struct memory_step *step,
                                                const struct memory_use *uses, struct err *err);
MUST_CHECK enum err_code publication_copy_memory(struct publication *publication,
                                                 uint64_t from_ns, uint64_t to_ns,
                                                 struct memory_log *out, struct err *err);

/* Sets all of *out but its profile and its memory; its windows are those of the measure. */
MUST_CHECK enum err_code publication_copy(struct publication *publication, enum measure measure,
                                          struct profile_snapshot *out, struct err *err);
MUST_CHECK enum err_code publication_copy_series(struct publication *publication,
                                                 uint64_t first, uint64_t end,
                                                 struct series *out, struct err *err);

#endif /* SAMPLER_PROFILE_PUBLICATION_H */
