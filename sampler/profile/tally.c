#include "sampler/profile/tally.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

enum { TALLY_KEPT_CELLS = 4096, TALLY_WASTE = 16 };

void tally_init(struct tally *tally, uint32_t max_cells)
{
    memset(tally, 0, sizeof *tally);
    idmap_init(&tally->index);
    tally->max_cells = max_cells;
}

void tally_deinit(struct tally *tally)
{
    idmap_deinit(&tally->index);
    free(tally->cells);
    memset(tally, 0, sizeof *tally);
}

static struct tally_cell *find(const struct tally *tally, uint32_t hash, uint64_t key)
{
    const struct idmap *const index = &tally->index;
    uint32_t id;
    for (uint32_t slot = idmap_first(index, hash); (id = idmap_id(index, slot)) != IDMAP_NONE;
         slot = idmap_next(index, slot))
        if (tally->cells[id].key == key)
            return &tally->cells[id];
    return NULL;
}

static enum err_code make_room(struct tally *tally, struct err *err)
{
    if (tally->count >= tally->max_cells)
        return err_set(err, ERR_LIMIT, "a count of samples is full at %u cells", tally->count);
    return VEC_RESERVE(tally->cells, tally->room, (size_t)tally->count + 1) ? ERR_OK
                                                                            : err_nomem(err);
}

enum err_code tally_add(struct tally *tally, uint64_t key, uint64_t count, uint64_t ns,
                        struct err *err)
{
    const uint32_t hash = idmap_mix(key, 0);
    struct tally_cell *const cell = find(tally, hash, key);
    if (cell) {
        cell->count += count;
        cell->ns += ns;
        return ERR_OK;
    }
    enum err_code rc = make_room(tally, err);
    if (!rc)
        rc = idmap_add(&tally->index, hash, tally->count, err);
    if (!rc)
        tally->cells[tally->count++] =
            (struct tally_cell){ .key = key, .count = count, .ns = ns };
    return rc;
}

void tally_clear(struct tally *tally)
{
    /* One busy window must not make every later one pay for clearing a huge index. */
    if (tally->room > TALLY_KEPT_CELLS && tally->count < tally->room / TALLY_WASTE) {
        const uint32_t max_cells = tally->max_cells;
        tally_deinit(tally);
        tally_init(tally, max_cells);
        return;
    }
    idmap_clear(&tally->index);
    tally->count = 0;
}
