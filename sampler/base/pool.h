/*
 * pool - a growable table of equal items that never move.
 *
 * Items lie in segments that double in size, so an id stays good, and so does the address of an
 * item, for the life of the pool.  That is what lets one thread append while others read: a
 * reader that learned a count (under a lock, once) may read every item below it without one.
 *
 * Ownership: the caller's storage holds the struct; the pool owns the segments.
 * Threads: one writer; readers only touch ids below a count that was published to them.
 * Limits: max_count, given at init; then ERR_LIMIT.
 */
#ifndef SAMPLER_BASE_POOL_H
#define SAMPLER_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { POOL_FIRST_SEGMENT = 1024, POOL_MAX_SEGMENTS = 22 };

struct pool {
    uint32_t item_bytes;
    uint32_t count;
    uint32_t max_count;
    unsigned char *segments[POOL_MAX_SEGMENTS];
};

/* max_count 0: as many as 22 segments hold (about 4.29e9). */
void pool_init(struct pool *pool, size_t item_bytes, uint32_t max_count);
void pool_deinit(struct pool *pool);

/* Appends a copy of *item. */
MUST_CHECK enum err_code pool_push(struct pool *pool, const void *item, uint32_t *id_out,
                                   struct err *err);

/* Takes the newest item back; only before its id has been given to anyone. */
void pool_pop(struct pool *pool);

/* The item's address.  The id must be below a count known to the caller's thread. */
static inline void *pool_at(const struct pool *pool, uint32_t id)
{
    const uint32_t shifted = id / POOL_FIRST_SEGMENT + 1;
    const unsigned segment = 31u - (unsigned)__builtin_clz(shifted);
    const uint32_t first = ((1u << segment) - 1u) * POOL_FIRST_SEGMENT;
    return pool->segments[segment] + (size_t)(id - first) * pool->item_bytes;
}

/* Bytes held by the segments. */
size_t pool_bytes(const struct pool *pool);

#endif /* SAMPLER_BASE_POOL_H */
