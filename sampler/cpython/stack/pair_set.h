/*
 * pair_set - a set of pairs of ids.
 *
 * Limits: PAIR_SET_MAX; beyond it no pair is added.
 */
#ifndef SAMPLER_CPYTHON_STACK_PAIR_SET_H
#define SAMPLER_CPYTHON_STACK_PAIR_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"

enum { PAIR_SET_MAX = 1 << 22 };

struct pair_set {
    struct pool items;
    struct idmap index;
};

void pair_set_init(struct pair_set *set);
void pair_set_deinit(struct pair_set *set);
/* Does nothing when the set is full. */
void pair_set_add(struct pair_set *set, uint32_t first, uint32_t second);
bool pair_set_has(const struct pair_set *set, uint32_t first, uint32_t second);

#endif /* SAMPLER_CPYTHON_STACK_PAIR_SET_H */
