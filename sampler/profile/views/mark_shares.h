/*
 * mark_shares - the samples of a query by one kind of mark: for what its threads waited (wait.h), or what
 * they worked for (context.h).
 *
 * Samples of the pseudo-thread of waiting tasks are left out.
 *
 * Ownership: the items belong to the struct; mark_shares_deinit accepts a zeroed one.  Texts are the snapshot's.
 * Threads: any, each on its own snapshot.
 * Cost: one pass over the cells of the query.
 */
#ifndef SAMPLER_PROFILE_VIEWS_MARK_SHARES_H
#define SAMPLER_PROFILE_VIEWS_MARK_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/context.h"
#include "sampler/profile/wait.h"

struct profile_snapshot;
struct view_query;

enum mark_kind { MARK_WAITS, MARK_CONTEXTS };

struct mark_share {
    struct wait_text wait;       /* of MARK_WAITS; without detail: no peer is known */
    struct context_text context; /* of MARK_CONTEXTS */
    uint64_t samples, running;   /* whatever the thread did; of these running (part.h) */
};

struct mark_shares {
    uint64_t samples;                     /* of the query */
    uint64_t waiting;                     /* of these not running */
    uint64_t idle;                        /* of these idle */
    uint64_t by_cause[WAIT_CAUSE_COUNT];  /* add up to `waiting` */
    uint64_t by_mark[CONTEXT_MARK_COUNT]; /* add up to `samples` */
    size_t count;
    struct mark_share *items; /* of the kind, most samples first; without what is unknown */
};

MUST_CHECK enum err_code mark_shares_init(struct mark_shares *shares, enum mark_kind kind,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query, struct err *err);
void mark_shares_deinit(struct mark_shares *shares);

#endif /* SAMPLER_PROFILE_VIEWS_MARK_SHARES_H */
