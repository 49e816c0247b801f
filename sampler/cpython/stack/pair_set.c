#include "sampler/cpython/stack/pair_set.h"

#include "sampler/base/hash.h"

struct pair {
    uint32_t first, second;
};

void pair_set_init(struct pair_set *set)
{
    pool_init(&set->items, sizeof(struct pair), PAIR_SET_MAX);
    idmap_init(&set->index);
}

void pair_set_deinit(struct pair_set *set)
{
    pool_deinit(&set->items);
    idmap_deinit(&set->index);
}

static bool is_pair(const struct pair *pair, uint32_t first, uint32_t second)
{
    return pair->first == first && pair->second == second;
}

bool pair_set_has(const struct pair_set *set, uint32_t first, uint32_t second)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &set->index, hash_mix(first, second),
               is_pair(pool_at(&set->items, at->id), first, second));
    return at != NULL;
}

void pair_set_add(struct pair_set *set, uint32_t first, uint32_t second)
{
    const struct pair new = { first, second };
    uint32_t id;
    if (!pair_set_has(set, first, second) && !pool_push(&set->items, &new, &id, NULL))
        (void)!idmap_add(&set->index, hash_mix(first, second), id, NULL);
}
