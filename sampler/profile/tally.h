/*
 * tally - counts samples by cell (thread, state bits, node: see cell_key.h).
 *
 * Private to profile: the open window, and the sum of several windows.
 *
 * Ownership: the caller's storage holds the struct; the tally owns its cells.
 * Threads: none; it belongs to one thread.
 * Limits: max_cells, given at init; then ERR_LIMIT, and cells already there still count.
 */
#ifndef SAMPLER_PROFILE_TALLY_H
#define SAMPLER_PROFILE_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"

struct tally_cell {
    uint64_t key;
    uint64_t count;
    uint64_t ns; /* that the samples stand for */
};

struct tally {
    struct idmap index; /* of positions in cells */
    struct tally_cell *cells;
    uint32_t count;
    size_t room;
    uint32_t max_cells;
};

void tally_init(struct tally *tally, uint32_t max_cells);
void tally_deinit(struct tally *tally);

MUST_CHECK enum err_code tally_add(struct tally *tally, uint64_t key, uint64_t count,
                                   uint64_t ns, struct err *err);
/* Removes all cells; keeps the room unless far less was needed. */
void tally_clear(struct tally *tally);

#endif /* SAMPLER_PROFILE_TALLY_H */
