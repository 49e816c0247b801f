#include "sampler/base/idmap.h"

#include <stdlib.h>
#include <string.h>

enum { IDMAP_FIRST_SLOTS = 64 };

void idmap_init(struct idmap *map)
{
    memset(map, 0, sizeof *map);
}

void idmap_deinit(struct idmap *map)
{
    free(map->slots);
    memset(map, 0, sizeof *map);
}

void idmap_clear(struct idmap *map)
{
    if (map->slots && map->count)
        memset(map->slots, 0xff, ((size_t)map->mask + 1) * sizeof *map->slots);
    map->count = 0;
}

static void place_slot(struct idmap *map, uint32_t hash, uint32_t id)
{
    uint32_t at = hash & map->mask;
    while (map->slots[at].id != IDMAP_NONE)
        at = (at + 1) & map->mask;
    map->slots[at] = (struct idmap_slot){ .hash = hash, .id = id };
}

static enum err_code grow_map(struct idmap *map, struct err *err)
{
    const size_t old_count = map->slots ? (size_t)map->mask + 1 : 0;
    const size_t new_count = old_count ? old_count * 2 : IDMAP_FIRST_SLOTS;
    struct idmap_slot *const old = map->slots;
    if (new_count > (size_t)1 << 31)
        return err_set(err, ERR_LIMIT, "an index is full");
    struct idmap_slot *const slots = malloc(new_count * sizeof *slots);
    if (!slots)
        return err_nomem(err);
    memset(slots, 0xff, new_count * sizeof *slots);
    map->slots = slots;
    map->mask = (uint32_t)(new_count - 1);
    for (size_t i = 0; i < old_count; i++)
        if (old[i].id != IDMAP_NONE)
            place_slot(map, old[i].hash, old[i].id);
    free(old);
    return ERR_OK;
}

enum err_code idmap_add(struct idmap *map, uint32_t hash, uint32_t id, struct err *err)
{
    const size_t slots = map->slots ? (size_t)map->mask + 1 : 0;
    if ((size_t)map->count * 4 >= slots * 3) {
        const enum err_code rc = grow_map(map, err);
        if (rc)
            return rc;
    }
    place_slot(map, hash, id);
    map->count++;
    return ERR_OK;
}

size_t idmap_bytes(const struct idmap *map)
{
    return map->slots ? ((size_t)map->mask + 1) * sizeof *map->slots : 0;
}
