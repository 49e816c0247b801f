/*
 * select - whom and when to ask for, as people name it: parts of a view_query.
 *
 * Ownership: the ids belong to the selection; selection_deinit accepts a zeroed one.
 * Threads: any, on a snapshot of one's own.
 * Depends on: profile, view, pattern.
 */
#ifndef SAMPLER_PROFILE_VIEWS_SELECT_H
#define SAMPLER_PROFILE_VIEWS_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct view_query;

/* Zeroed: every thread. */
struct select_key {
    int32_t pid;
    int32_t tid;         /* a thread that was renamed is several rows: all of them */
    const char *thread;  /* name or shell pattern; NULL: any */
    const char *process; /* the same of its process */
};

struct selection {
    thread_id *threads; /* ascending; never NULL, so that none is none */
    size_t count;
};

MUST_CHECK enum err_code select_threads(struct selection *selection,
                                        const struct profile_snapshot *snapshot,
                                        const struct select_key *key, struct err *err);
void selection_deinit(struct selection *selection);

/* The last so many nanoseconds that there are. */
void select_recent(struct view_query *query, const struct profile_snapshot *snapshot,
                   uint64_t recent_ns);

#endif /* SAMPLER_PROFILE_VIEWS_SELECT_H */
