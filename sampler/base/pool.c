#include "sampler/base/pool.h"

#include <stdlib.h>
#include <string.h>

static size_t segment_items(uint32_t segment)
{
    return (size_t)POOL_FIRST_SEGMENT << segment;
}

void pool_init(struct pool *pool, size_t item_bytes, uint32_t max_count)
{
    const uint32_t most = ((1u << POOL_MAX_SEGMENTS) - 1u) * (uint32_t)POOL_FIRST_SEGMENT;
    memset(pool, 0, sizeof *pool);
    pool->item_bytes = (uint32_t)item_bytes;
    pool->max_count = max_count && max_count < most ? max_count : most;
}

void pool_deinit(struct pool *pool)
{
    for (size_t i = 0; i < POOL_MAX_SEGMENTS; i++)
        free(pool->segments[i]);
    memset(pool, 0, sizeof *pool);
}

enum err_code pool_push(struct pool *pool, const void *item, uint32_t *id_out, struct err *err)
{
    if (pool->count >= pool->max_count)
        return err_set(err, ERR_LIMIT, "a table is full at %u rows", pool->max_count);
    const uint32_t id = pool->count;
    const uint32_t segment = 31u - (uint32_t)__builtin_clz(id / POOL_FIRST_SEGMENT + 1);
    if (!pool->segments[segment]) {
        pool->segments[segment] = malloc(segment_items(segment) * pool->item_bytes);
        if (!pool->segments[segment])
            return err_nomem(err);
    }
    memcpy(pool_at(pool, pool->count), item, pool->item_bytes);
    *id_out = pool->count++;
    return ERR_OK;
}

void pool_pop(struct pool *pool)
{
    pool->count--;
}

size_t pool_bytes(const struct pool *pool)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < POOL_MAX_SEGMENTS && pool->segments[i]; i++)
        bytes += segment_items(i) * pool->item_bytes;
    return bytes;
}
