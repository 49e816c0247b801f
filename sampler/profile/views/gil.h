/*
 * gil - GIL contention by thread: who held the GIL while another thread waited for it.
 *
 * Cells do not show which samples were taken at the same tick.  But a window is short (250 ms unless it
 * is old), and shows which threads waited in it and which held the GIL.  The waiting of a thread in a
 * window is attributed to the other threads of its process that held the GIL in that window, in
 * proportion.  For two threads that is exact.
 *
 * Ownership: the columns belong to the struct; gil_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: twice the cells of the query's windows, plus for each window its waiting threads times its
 * holding threads.
 * Limits: GIL_MAX_THREADS threads with a row of their own, those that waited and held most; one row
 * for all others.
 * Units: thousandths of a sample.
 */
#ifndef SAMPLER_PROFILE_VIEWS_GIL_H
#define SAMPLER_PROFILE_VIEWS_GIL_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct view_query;

enum { GIL_MAX_THREADS = 64 };

struct gil {
    uint64_t waited; /* by the threads of the query */
    uint64_t
        unattributed; /* of that, while no other thread of the process was seen to hold the GIL */
    size_t thread_count;
    thread_id threads[GIL_MAX_THREADS]; /* ascending */
    size_t rows;                        /* thread_count, plus one if there are others */
    uint64_t *pairs;                    /* rows * rows: for each holder one number per waiter */
    size_t count;
    node_id *node;          /* ascending: nodes of threads that held it */
    uint64_t *waits_caused; /* what other threads waited meanwhile */
};

/* The query's threads and processes are those that waited; ignores its `since` and states. */
MUST_CHECK enum err_code gil_init(struct gil *gil, const struct profile_snapshot *snapshot,
                                  const struct view_query *query, struct err *err);
void gil_deinit(struct gil *gil);

#endif /* SAMPLER_PROFILE_VIEWS_GIL_H */
