#include "sampler/native/rule_cache.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"

/* The newest place comes first. */
struct rule_set {
    struct rule_place places[RULE_CACHE_WAYS];
};

enum err_code rule_cache_init(struct rule_cache *cache, struct err *err)
{
    struct rule_set *const sets = calloc(RULE_CACHE_FIRST_SETS, sizeof *sets);
    if (!sets)
        return err_nomem(err);
    *cache = (struct rule_cache){ .sets = sets, .set_count = RULE_CACHE_FIRST_SETS };
    return ERR_OK;
}

void rule_cache_deinit(struct rule_cache *cache)
{
    free(cache->sets);
    memset(cache, 0, sizeof *cache);
}

void rule_cache_clear(struct rule_cache *cache)
{
    memset(cache->sets, 0, cache->set_count * sizeof *cache->sets);
    cache->added = 0;
}

static struct rule_set *set_of(const struct rule_cache *cache, uint32_t image, uint32_t offset)
{
    return &cache->sets[hash_mix(image, offset) & (cache->set_count - 1)];
}

const struct rule_place *rule_cache_find(const struct rule_cache *cache, uint32_t image,
                                         uint32_t offset)
{
    const struct rule_set *const set = set_of(cache, image, offset);
    for (size_t i = 0; i < RULE_CACHE_WAYS; i++)
        if (set->places[i].offset == offset && set->places[i].image == image)
            return &set->places[i];
    return NULL;
}

static void insert_place(struct rule_cache *cache, const struct rule_place *place)
{
    struct rule_set *const set = set_of(cache, place->image, place->offset);
    memmove(&set->places[1], &set->places[0], sizeof *place * (RULE_CACHE_WAYS - 1));
    set->places[0] = *place;
}

void rule_cache_add(struct rule_cache *cache, const struct rule_place *place)
{
    struct rule_cache larger = { .set_count = cache->set_count * 2 };
    if (cache->added >= larger.set_count && cache->set_count < RULE_CACHE_MAX_SETS)
        larger.sets = calloc(larger.set_count, sizeof *larger.sets);
    /* Without memory for more, the cache keeps its size. */
    if (larger.sets) {
        for (size_t i = 0; i < cache->set_count; i++)
            for (size_t way = RULE_CACHE_WAYS; way-- > 0;)
                if (cache->sets[i].places[way].image) {
                    insert_place(&larger, &cache->sets[i].places[way]);
                    larger.added++;
                }
        free(cache->sets);
        *cache = larger;
    }
    insert_place(cache, place);
    cache->added++;
}

size_t rule_cache_bytes(const struct rule_cache *cache)
{
    return cache->set_count * sizeof *cache->sets;
}
