/*
 * idmap - finds the id of a row by the hash of its key.
 *
 * Open addressing over (hash, id) pairs, power of two, linear probing.  It does not know the
 * keys: the caller compares the rows that have the same hash.
 *
 *     struct idmap_slot *at;
 *     IDMAP_FIND(at, &map, hash, row_equals(at->id, key));
 *     return at ? at->id : NONE;
 *
 * Ownership: the caller's storage holds the struct; the map owns its slots.
 * Threads: none; it is private to the writer of a table.
 * Limits: 2^31 slots.
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

/* Allocates nothing; the first add does. */
void idmap_init(struct idmap *map);
void idmap_deinit(struct idmap *map);
/* Forgets all entries and keeps the room. */
void idmap_clear(struct idmap *map);
MUST_CHECK enum err_code idmap_add(struct idmap *map, uint32_t hash, uint32_t id,
                                   struct err *err);

/* Bytes held by the slots. */
size_t idmap_bytes(const struct idmap *map);

/* The first slot where an id of that hash may stand, and the next one; NULL: there is no more. */
static inline struct idmap_slot *idmap_first(const struct idmap *map, uint32_t hash)
{
    struct idmap_slot *const slot = map->slots ? &map->slots[hash & map->mask] : NULL;
    return slot && slot->id != IDMAP_NONE ? slot : NULL;
}

static inline struct idmap_slot *idmap_next(const struct idmap *map,
                                            const struct idmap_slot *slot)
{
    struct idmap_slot *const next = &map->slots[(slot - map->slots + 1) & map->mask];
    return next->id != IDMAP_NONE ? next : NULL;
}

/* Sets `at`, a struct idmap_slot *, to the slot of that hash for which is_it, an expression of `at`,
 * holds; NULL: there is none. */
#define IDMAP_FIND(at, map, wanted_hash, is_it)           \
    do {                                                  \
        const struct idmap *const map_ = (map);           \
        const uint32_t hash_ = (wanted_hash);             \
        (at) = idmap_first(map_, hash_);                  \
        while ((at) && ((at)->hash != hash_ || !(is_it))) \
            (at) = idmap_next(map_, at);                  \
    } while (0)

#endif /* SAMPLER_BASE_IDMAP_H */
