/*
 * thread_waits - the most frequent cause of each thread's waits in a query, and its most frequent peer.
 *
 * Samples of unknown cause are one cause among the others.  Threads that never waited have no row.
 *
 * Ownership: the rows belong to the struct; thread_waits_deinit accepts a zeroed one.
 * Threads: any, each on its own snapshot.
 * Cost: one pass over the cells of the query, and sorting those that wait.
 */
#ifndef SAMPLER_PROFILE_VIEWS_THREAD_WAITS_H
#define SAMPLER_PROFILE_VIEWS_THREAD_WAITS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/wait.h"

struct view_query;

struct thread_wait {
    thread_id thread;
    uint64_t waiting; /* samples, whatever the cause */
    uint64_t samples; /* of the cause */
    enum wait_cause cause;
    function_id mark; /* the frame of the cause with that peer (wait.h); 0: unknown */
};

struct thread_waits {
    size_t count;
    struct thread_wait *rows; /* ascending by thread */
    struct thread_wait
        all; /* of all threads but that of waiting tasks; its thread says nothing */
};

MUST_CHECK enum err_code thread_waits_init(struct thread_waits *waits,
                                           const struct profile_snapshot *snapshot,
                                           const struct view_query *query, struct err *err);
void thread_waits_deinit(struct thread_waits *waits);

/* "network read 10.0.0.5:5432"; "unknown"; cut to `size`. */
void thread_wait_text(const struct profile_snapshot *snapshot, const struct thread_wait *wait,
                      char *out, size_t size);

#endif /* SAMPLER_PROFILE_VIEWS_THREAD_WAITS_H */
