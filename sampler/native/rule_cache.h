/*
 * rule_cache - the rule of an address of code that was met before.
 *
 * The key is an image and an offset in it.  An image that is mapped again has another id, so no rule of
 * what lay there earlier is found.  What was not used for long makes room for what is new.
 *
 * Ownership: the caller's storage; rule_cache_deinit frees it.
 * Threads: one at a time.
 * Limits: RULE_CACHE_MAX_SETS sets of RULE_CACHE_WAYS places, 16 bytes each.  Starts with
 * RULE_CACHE_FIRST_SETS sets.
 */
#ifndef SAMPLER_NATIVE_RULE_CACHE_H
#define SAMPLER_NATIVE_RULE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { RULE_CACHE_WAYS = 4, RULE_CACHE_FIRST_SETS = 128, RULE_CACHE_MAX_SETS = 4096 };

struct rule_place {
    uint32_t image; /* 0: free */
    uint32_t offset;
    uint32_t rule;
    uint32_t into_function; /* bytes since the function's first; UINT32_MAX: unknown */
};

struct rule_cache {
    struct rule_set *sets;
    size_t set_count;
    size_t added; /* places, and those that they replaced since the cache grew */
};

MUST_CHECK enum err_code rule_cache_init(struct rule_cache *cache, struct err *err);
void rule_cache_deinit(struct rule_cache *cache);
void rule_cache_clear(struct rule_cache *cache);
/* NULL: not there.  Good until the next call that changes the cache. */
const struct rule_place *rule_cache_find(const struct rule_cache *cache, uint32_t image,
                                         uint32_t offset);
/* Adds a place that is not there. */
void rule_cache_add(struct rule_cache *cache, const struct rule_place *place);
size_t rule_cache_bytes(const struct rule_cache *cache);

#endif /* SAMPLER_NATIVE_RULE_CACHE_H */
