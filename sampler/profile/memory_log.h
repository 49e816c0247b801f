/*
 * memory_log - the memory and page faults of processes along time, in steps.
 *
 * A reading of all processes is a step.  When there are more than MEMORY_LOG_MAX_USES rows, each two neighbours of the older three
 * quarters of the steps become one: the older a step, the longer it is.  A long step keeps the memory at its end and
 * its highest memory, and counts all faults.
 *
 * Ownership: the caller's storage; memory_log_deinit accepts a zeroed one, which is an empty log.
 * Threads: none; profile.c guards that of a profile.
 * Limits: MEMORY_LOG_MAX_USES rows in all, MEMORY_STEP_MAX_USES of a step: processes beyond those with the highest peaks become one row,
 * MEMORY_OTHERS.
 * Units: bytes; nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_MEMORY_LOG_H
#define SAMPLER_PROFILE_MEMORY_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"

enum { MEMORY_LOG_MAX_USES = 1 << 17, MEMORY_STEP_MAX_USES = 512 };

/* In place of a process: all that have no row of their own. */
#define MEMORY_OTHERS UINT32_MAX

/* A process in a step. */
struct memory_use {
    process_id process;
    uint32_t group; /* distinguishes control groups with a limit; 0: no limit is known */
    uint64_t rss_bytes, swap_bytes; /* at the end; 0 also: it has ended */
    uint64_t peak_bytes;            /* the highest RSS */
    uint64_t limit_bytes;           /* of the memory of its control group; 0: none is known */
    uint32_t minor_faults, major_faults;
};

struct memory_step {
    uint64_t start_ns, end_ns;
    uint64_t peak_bytes; /* the highest RSS of all processes together */
    size_t first;        /* of its rows, which are sorted by process */
    uint32_t count;
};

struct memory_log {
    struct memory_step *steps; /* ascending, none overlaps another */
    size_t step_count, step_room;
    struct memory_use *uses;
    size_t use_count, use_room;
};

void memory_log_deinit(struct memory_log *log);
/* Empties it and keeps the room. */
void memory_log_clear(struct memory_log *log);

/* Adds a step; `first` of it does not count.  Rows of one process are added up.  Does nothing if the step is empty, or begins before the end
 * of the last one. */
MUST_CHECK enum err_code memory_log_add(struct memory_log *log, const struct memory_step *step,
                                        const struct memory_use *uses, struct err *err);
/* Copies the steps that start from from_ns to before to_ns; to_ns 0: no end. */
MUST_CHECK enum err_code memory_log_copy(const struct memory_log *log, uint64_t from_ns,
                                         uint64_t to_ns, struct memory_log *out,
                                         struct err *err);

/* Makes one log of several that may overlap in time, in steps of at least a quarter of a second.  A process is in at most one of them at a
 * time, or counts twice. */
MUST_CHECK enum err_code memory_log_merge(const struct memory_log *logs, size_t count,
                                          struct memory_log *out, struct err *err);

static inline const struct memory_use *memory_log_uses(const struct memory_log *log,
                                                       const struct memory_step *step)
{
    return log->uses + step->first;
}

static inline size_t memory_log_bytes(const struct memory_log *log)
{
    return log->step_room * sizeof *log->steps + log->use_room * sizeof *log->uses;
}

#endif /* SAMPLER_PROFILE_MEMORY_LOG_H */
