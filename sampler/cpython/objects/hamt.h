/*
 * hamt - reads the mapping that a contextvars.Context holds: a hash array mapped trie of keys and values.
 *
 * A key stands at the place that its hash says, so looking one up reads two pieces of memory for each level.
 * The layout of the nodes is in Python/hamt.c; it has been the same from 3.8 to 3.15.
 *
 * Ownership: the caller's storage; holds nothing.
 * Threads: none.
 * Limits: HAMT_MAX_DEPTH levels, HAMT_MAX_NODES nodes and HAMT_MAX_PAIRS pairs of a walk.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_HAMT_H
#define SAMPLER_CPYTHON_OBJECTS_HAMT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { HAMT_MAX_DEPTH = 8, HAMT_MAX_NODES = 256, HAMT_MAX_PAIRS = 1024 };

/* The types of its objects, once seen; zeroed: none. */
struct hamt_types {
    remote_addr map, bitmap, array, collision;
};

struct hamt {
    remote_addr root;
    uint64_t count; /* of its pairs */
};

/* ERR_CORRUPT: there is no such object at addr. */
MUST_CHECK enum err_code hamt_open(struct memory *memory, const struct layout *layout,
                                   struct hamt_types *types, remote_addr addr,
                                   struct hamt *out);

/* The value of a key, an object that is equal to no other.  hash: its __hash__.  ERR_NOT_FOUND: it has none. */
MUST_CHECK enum err_code hamt_find(struct memory *memory, const struct layout *layout,
                                   struct hamt_types *types, remote_addr root, remote_addr key,
                                   uint64_t hash, remote_addr *out);

struct hamt_pair {
    remote_addr key, value;
};

/* All pairs, in no order.  ERR_LIMIT: there are more than `room`, or than a walk reads. */
MUST_CHECK enum err_code hamt_list(struct memory *memory, const struct layout *layout,
                                   struct hamt_types *types, remote_addr root,
                                   struct hamt_pair *pairs, size_t room, size_t *count_out);

#endif /* SAMPLER_CPYTHON_OBJECTS_HAMT_H */
