/*
 * gil - who held the GIL while whom waited for it.
 *
 * Cells do not know which samples were taken at the same look.  A window does know who waited in
 * it and who held, and it is short (250 ms unless it is old): what a thread waited in a window is
 * shared out among the other threads of its process that held the GIL in that window, in
 * proportion.  With two threads that is exact.
 *
 * Ownership: the columns belong to the struct; gil_deinit accepts a zeroed one.
 * Threads: any, on a snapshot of one's own.
 * Cost: twice the cells of the windows asked for, and the waiting threads of each window times
 * its holding ones.
 * Limits: GIL_MAX_THREADS threads by themselves, those that waited and held most; the rest is one.
 * Units: thousandths of a sample.
 * Depends on: profile, window, view (the query).
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
    uint64_t waited; /* by the threads asked for */
    uint64_t
        unattributed; /* of it, while nobody else of the process was seen to hold the GIL */
    size_t thread_count;
    thread_id threads[GIL_MAX_THREADS]; /* ascending */
    size_t rows;                        /* thread_count, and one more if there is a rest */
    uint64_t *pairs; /* rows * rows: holder after holder, a number a waiter */
    size_t count;
    node_id *node;          /* ascending: where those stood who held it */
    uint64_t *waits_caused; /* and what others waited meanwhile */
};

/* Of the query, its threads and processes are those that waited; `since` and states do not count. */
MUST_CHECK enum err_code gil_init(struct gil *gil, const struct profile_snapshot *snapshot,
                                  const struct view_query *query, struct err *err);
void gil_deinit(struct gil *gil);

#endif /* SAMPLER_PROFILE_VIEWS_GIL_H */
