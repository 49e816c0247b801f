#include "sampler/native/rule.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"

_Static_assert(sizeof(struct rule) == 12 + sizeof(machine_offset) * MACHINE_SAVED,
               "rules are hashed and compared as bytes");

const struct rule rule_initial = {
    .saved = { MACHINE_FOR_SAVED(RULE_UNCHANGED) },
};

const struct rule rule_lost = {
    .kind = RULE_REGISTER,
    .saved = { MACHINE_FOR_SAVED(RULE_LOST) },
};

void rules_init(struct rules *rules)
{
    memset(rules, 0, sizeof *rules);
    idmap_init(&rules->index);
}

void rules_deinit(struct rules *rules)
{
    free(rules->items);
    idmap_deinit(&rules->index);
    memset(rules, 0, sizeof *rules);
}

void rules_clear(struct rules *rules)
{
    rules->count = 0;
    idmap_clear(&rules->index);
}

enum err_code rules_intern(struct rules *rules, const struct rule *rule, uint32_t *id_out)
{
    const uint32_t hash = (uint32_t)hash_bytes(rule, sizeof *rule, HASH_SEED);
    struct idmap_slot *at;
    IDMAP_FIND(at, &rules->index, hash, memcmp(&rules->items[at->id], rule, sizeof *rule) == 0);
    if (at) {
        *id_out = at->id;
        return ERR_OK;
    }
    if (rules->count == RULES_MAX)
        return ERR_LIMIT;
    if (!VEC_RESERVE(rules->items, rules->room, rules->count + 1))
        return ERR_NOMEM;
    const enum err_code rc = idmap_add(&rules->index, hash, (uint32_t)rules->count, NULL);
    if (rc)
        return rc;
    *id_out = (uint32_t)rules->count;
    rules->items[rules->count++] = *rule;
    return ERR_OK;
}

size_t rules_bytes(const struct rules *rules)
{
    return rules->room * sizeof *rules->items + idmap_bytes(&rules->index);
}
