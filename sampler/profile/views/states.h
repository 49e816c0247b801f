/*
 * states - what threads were doing: samples of each thread by state flag.
 *
 * A sample counts once for its thread.  For each flag it counts as yes, as unknown, or not at all,
 * which means no.  In addition every sample is in exactly one part of time, so these add up to the
 * samples.  Waiting tasks are not threads, and their samples show nothing about GIL and CPU, so they are in no part,
 * and the sums of all threads leave them out.
 *
 * Ownership: the rows belong to the struct; states_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: proportional to the cells of the query's windows.
 */
#ifndef SAMPLER_PROFILE_VIEWS_STATES_H
#define SAMPLER_PROFILE_VIEWS_STATES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"

struct view_query;

struct state_sums {
    uint64_t samples;
    uint64_t yes[STATE_FLAG_COUNT];
    uint64_t unknown[STATE_FLAG_COUNT];
    uint64_t parts[PART_COUNT];
};

struct states {
    uint32_t generation;
    struct state_sums all; /* of threads */
    uint64_t tasks;        /* samples of waiting tasks, which have rows too */
    size_t count;
    struct states_row {
        thread_id thread;
        struct state_sums sums;
    } * rows; /* of threads that have samples, ascending */
};

/* Uses the query's times, `since` and states; every thread with samples has a row. */
MUST_CHECK enum err_code states_init(struct states *states,
                                     const struct profile_snapshot *snapshot,
                                     const struct view_query *query, struct err *err);
void states_deinit(struct states *states);

/* The true share of samples is between the two: between none and all of the unknown ones count as
 * yes.  Negative: there are no samples. */
double state_sums_at_least(const struct state_sums *sums, enum state_flag flag);
double state_sums_at_most(const struct state_sums *sums, enum state_flag flag);

#endif /* SAMPLER_PROFILE_VIEWS_STATES_H */
