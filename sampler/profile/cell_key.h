/*
 * cell_key - thread, state bits and node of a cell in one number; node and spot in another.
 *
 * Private to profile.  Numbers ascend in the order of cells: by thread, then state, then node.
 */
#ifndef SAMPLER_PROFILE_CELL_KEY_H
#define SAMPLER_PROFILE_CELL_KEY_H

#include <stdint.h>

#include "sampler/profile/profile_rows.h"
#include "sampler/profile/state.h"

enum { CELL_KEY_NODE_BITS = 24, CELL_KEY_STATE_BITS = 16, CELL_KEY_THREAD_BITS = 24 };

_Static_assert(PROFILE_MAX_NODES <= 1 << CELL_KEY_NODE_BITS, "a node does not fit");
_Static_assert(PROFILE_MAX_THREADS <= 1 << CELL_KEY_THREAD_BITS, "a thread does not fit");
_Static_assert(sizeof(state_bits) * 8 <= CELL_KEY_STATE_BITS, "the state does not fit");

static inline uint64_t cell_key(thread_id thread, state_bits state, node_id node)
{
    return (uint64_t)thread << (CELL_KEY_STATE_BITS + CELL_KEY_NODE_BITS) |
           (uint64_t)state << CELL_KEY_NODE_BITS | node;
}

static inline thread_id cell_key_thread(uint64_t key)
{
    return (thread_id)(key >> (CELL_KEY_STATE_BITS + CELL_KEY_NODE_BITS));
}

static inline state_bits cell_key_state(uint64_t key)
{
    return (state_bits)(key >> CELL_KEY_NODE_BITS);
}

static inline node_id cell_key_node(uint64_t key)
{
    return (node_id)key & ((1u << CELL_KEY_NODE_BITS) - 1);
}

static inline uint64_t spot_key(node_id node, spot_id spot)
{
    return (uint64_t)node << 32 | spot;
}

static inline node_id spot_key_node(uint64_t key)
{
    return (node_id)(key >> 32);
}

static inline spot_id spot_key_spot(uint64_t key)
{
    return (spot_id)key;
}

/* For qsort. */
static inline int cell_key_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

#endif /* SAMPLER_PROFILE_CELL_KEY_H */
