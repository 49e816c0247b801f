/*
 * chain - the stack of a node, innermost frame first.
 *
 * Ownership: the struct owns its array, which is good until the next call; zeroed is empty.
 */
#ifndef SERVER_REPORT_CHAIN_H
#define SERVER_REPORT_CHAIN_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct chain {
    frame_id *frames; /* without the root */
    size_t depth;
    size_t room;
};

MUST_CHECK enum err_code chain_up(struct chain *chain, const struct profile_snapshot *snapshot,
                                  node_id node, struct err *err);
/* Removes the mark of a context (sampler/profile/context.h), which stands at the end, or above the mark of a wait. */
void chain_drop_context(struct chain *chain, const struct profile_snapshot *snapshot);
void chain_deinit(struct chain *chain);

#endif /* SERVER_REPORT_CHAIN_H */
