/*
 * idmap - finds the id of a row by the hash of its key.
 *
 * Open addressing over (hash, id) pairs, power of two, linear probing.  It does not know the
 * keys: the caller walks the candidates with the same hash and compares rows itself.
 *
 *     for (uint32_t slot = idmap_first(m, h); (id = idmap_id(m, slot)) != IDMAP_NONE;
 *          slot = idmap_next(m, slot))
 *         if (idmap_hash(m, slot) == h && row_equals(id, key)) return id;
 *
 * Ownership: the caller's storage holds the struct; the map owns its slots.
 * Threads: none; it is private to the writer of a table.
 * Limits: 2^31 slots.
 * Depends on: err.
 */
#ifndef SAMPLER_BASE_IDMAP_H
#define SAMPLER_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

#define IDMAP_NONE UINT32_MAX

struct idmap_slot {
    uint32_t hash;
    uint32_t id; /* IDMAP_NONE: free */
};

struct idmap {
    struct idmap_slot *slots;
    uint32_t mask;
    uint32_t count;
};

/* Slots are made at the first add. */
void idmap_init(struct idmap *map);
void idmap_deinit(struct idmap *map);
/* Forgets all entries and keeps the room. */
void idmap_clear(struct idmap *map);
MUST_CHECK enum err_code idmap_add(struct idmap *map, uint32_t hash, uint32_t id,
                                   struct err *err);

/* Bytes held by the slots. */
size_t idmap_bytes(const struct idmap *map);

static inline uint32_t idmap_first(const struct idmap *map, uint32_t hash)
{
    return hash & map->mask;
}

static inline uint32_t idmap_next(const struct idmap *map, uint32_t slot)
{
    return (slot + 1) & map->mask;
}

static inline uint32_t idmap_id(const struct idmap *map, uint32_t slot)
{
    return map->slots ? map->slots[slot].id : IDMAP_NONE;
}

static inline uint32_t idmap_hash(const struct idmap *map, uint32_t slot)
{
    return map->slots[slot].hash;
}

/* Mixes two words into a hash (the finaliser of MurmurHash3 over their sum). */
static inline uint32_t idmap_mix(uint64_t a, uint64_t b)
{
    uint64_t h = a * 0x9e3779b97f4a7c15u + b;
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdu;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53u;
    h ^= h >> 33;
    return (uint32_t)h;
}

#endif /* SAMPLER_BASE_IDMAP_H */
