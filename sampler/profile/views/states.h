/*
 * states - what the threads were doing, in numbers: samples of each thread by fact.
 *
 * A sample counts once among its thread's samples, and in each fact as yes, as unknown, or not
 * at all: then it is known that it was not so.  Beside that every sample is exactly one of the
 * STATE_DOINGS, so that they add up to the samples.  Waiting tasks are no threads: of the GIL and the
 * CPU their samples say nothing, so the sums of all threads are without them.
 *
 * Ownership: the rows belong to the struct; states_deinit accepts a zeroed one.
 * Threads: any, on a snapshot of one's own.
 * Cost: proportional to the cells of the windows asked for.
 * Depends on: profile, window, view (the query).
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
    uint64_t doing[STATE_DOING_COUNT];
};

struct states {
    uint32_t generation;
    struct state_sums all; /* of threads */
    uint64_t tasks;        /* samples of waiting tasks, which are none; they have a row */
    size_t count;
    struct states_row {
        thread_id thread;
        struct state_sums sums;
    } * rows; /* of threads that have samples, ascending */
};

/* Of the query, its times, its `since` and its states are looked at; there is a row for each
 * thread anyway. */
MUST_CHECK enum err_code states_init(struct states *states,
                                     const struct profile_snapshot *snapshot,
                                     const struct view_query *query, struct err *err);
void states_deinit(struct states *states);

/* The true share of samples lies between the two: unknown ones may all be so, or none.  Negative
 * when there are no samples. */
double state_sums_at_least(const struct state_sums *sums, enum state_flag flag);
double state_sums_at_most(const struct state_sums *sums, enum state_flag flag);

#endif /* SAMPLER_PROFILE_VIEWS_STATES_H */
