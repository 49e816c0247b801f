/*
 * preorder - the nodes of the call tree, parents before children, each subtree in one run.
 *
 * A walk over the tree is thus a walk over an array, whatever the depth.  Siblings are in the order of
 * their ids.
 *
 * Ownership: the struct owns its arrays; preorder_deinit accepts a zeroed one.
 * Cost: proportional to the nodes.
 */
#ifndef SERVER_REPORT_PREORDER_H
#define SERVER_REPORT_PREORDER_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct preorder {
    uint32_t count;
    uint32_t max_depth;
    node_id *node;      /* by position; the root is first */
    uint32_t *position; /* by node */
    uint32_t *depth;    /* by node; the root's is 0 */
};

MUST_CHECK enum err_code preorder_init(struct preorder *order,
                                       const struct profile_snapshot *snapshot,
                                       struct err *err);
void preorder_deinit(struct preorder *order);

#endif /* SERVER_REPORT_PREORDER_H */
