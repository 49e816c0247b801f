#include "sampler/profile/tally.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
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
    const uint32_t hash = hash_mix(key, 0);
    struct idmap_slot *at;
    IDMAP_FIND(at, &tally->index, hash, tally->cells[at->id].key == key);
    if (at) {
        tally->cells[at->id].count += count;
        tally->cells[at->id].ns += ns;
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
    /* After one busy window, later ones must not clear a huge index each time. */
    if (tally->room > TALLY_KEPT_CELLS && tally->count < tally->room / TALLY_WASTE) {
        const uint32_t max_cells = tally->max_cells;
        tally_deinit(tally);
        tally_init(tally, max_cells);
        return;
    }
    idmap_clear(&tally->index);
    tally->count = 0;
}
