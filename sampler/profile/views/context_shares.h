/*
 * context_shares - what the threads of a query worked for: samples by value of a ContextVar (context.h).
 *
 * Samples of the pseudo-thread of waiting tasks are left out.
 *
 * Ownership: the items belong to the struct; context_shares_deinit accepts a zeroed one.  Texts are the snapshot's.
 * Threads: any, each on its own snapshot.
 * Cost: one pass over the cells of the query.
 */
#ifndef SAMPLER_PROFILE_VIEWS_CONTEXT_SHARES_H
#define SAMPLER_PROFILE_VIEWS_CONTEXT_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/context.h"

struct profile_snapshot;
struct view_query;

struct context_share {
    struct context_text text;
    uint64_t samples, running; /* whatever the thread did; of these running (part.h) */
};

struct context_shares {
    uint64_t samples;                     /* of the query */
    uint64_t by_mark[CONTEXT_MARK_COUNT]; /* add up to `samples` */
    size_t count;
    struct context_share *items; /* most samples first; without those that are unknown */
};

MUST_CHECK enum err_code context_shares_init(struct context_shares *shares,
                                             const struct profile_snapshot *snapshot,
                                             const struct view_query *query, struct err *err);
void context_shares_deinit(struct context_shares *shares);

#endif /* SAMPLER_PROFILE_VIEWS_CONTEXT_SHARES_H */
