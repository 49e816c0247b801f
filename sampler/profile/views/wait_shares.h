/*
 * wait_shares - for what the threads of a query waited: samples by cause and peer.
 *
 * Samples of the pseudo-thread of waiting tasks are left out.
 *
 * Ownership: the items belong to the struct; wait_shares_deinit accepts a zeroed one.  Texts are the snapshot's.
 * Threads: any, each on its own snapshot.
 * Cost: one pass over the cells of the query.
 */
#ifndef SAMPLER_PROFILE_VIEWS_WAIT_SHARES_H
#define SAMPLER_PROFILE_VIEWS_WAIT_SHARES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/wait.h"

struct profile_snapshot;
struct view_query;

struct wait_share {
    struct wait_text wait; /* without detail: no peer is known */
    uint64_t samples;
};

struct wait_shares {
    uint64_t samples;                    /* of the query, whatever the threads did */
    uint64_t waiting;                    /* of these not running (part.h) */
    uint64_t idle;                       /* of these idle */
    uint64_t by_cause[WAIT_CAUSE_COUNT]; /* add up to `waiting` */
    size_t count;
    struct wait_share
        *items; /* most samples first; those of unknown cause are not among them */
};

MUST_CHECK enum err_code wait_shares_init(struct wait_shares *shares,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query, struct err *err);
void wait_shares_deinit(struct wait_shares *shares);

/* The cause with most samples; WAIT_UNKNOWN if no cause is known. */
enum wait_cause wait_shares_main(const struct wait_shares *shares);

#endif /* SAMPLER_PROFILE_VIEWS_WAIT_SHARES_H */
