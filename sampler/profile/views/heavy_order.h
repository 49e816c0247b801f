/*
 * heavy_order - nodes in the order of a tree whose callees stand the heaviest first.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; heavy_order_deinit accepts a zeroed one.
 * Cost: 12 bytes for each node of the session, and 20 more while it is sorted.
 */
#ifndef SAMPLER_PROFILE_VIEWS_HEAVY_ORDER_H
#define SAMPLER_PROFILE_VIEWS_HEAVY_ORDER_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct heavy_order {
    uint64_t *weight;   /* by node; with those below it once it is sorted */
    uint32_t *position; /* by node, of those with a weight */
};

/* No node has a weight yet: add to `weight`, then sort. */
MUST_CHECK enum err_code heavy_order_init(struct heavy_order *order,
                                          const struct profile_snapshot *snapshot,
                                          struct err *err);
MUST_CHECK enum err_code heavy_order_sort(struct heavy_order *order,
                                          const struct profile_snapshot *snapshot,
                                          struct err *err);
void heavy_order_deinit(struct heavy_order *order);

#endif /* SAMPLER_PROFILE_VIEWS_HEAVY_ORDER_H */
