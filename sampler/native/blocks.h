/*
 * blocks - a small cache of a process's memory, for tables that do not change.
 *
 * A block lies within one page, so it is readable as a whole or not at all.
 *
 * A hostile process may have tables that take long to read, so all reading together has a budget: a unit
 * for each number, BLOCKS_FETCH_COST for each block that is not in the cache.
 *
 * Ownership: blocks_init allocates, blocks_deinit frees; the memory stays the caller's and must
 * outlive the cache.
 * Limits: BLOCKS_COUNT blocks of BLOCKS_BYTES bytes.
 */
#ifndef SAMPLER_NATIVE_BLOCKS_H
#define SAMPLER_NATIVE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

enum { BLOCKS_BYTES = 1024, BLOCKS_COUNT = 64, BLOCKS_FETCH_COST = 32 };

struct blocks {
    struct memory *memory;
    struct block *items;
    uint64_t budget; /* what may be read yet; the caller sets it again */
};

MUST_CHECK enum err_code blocks_init(struct blocks *blocks, struct memory *memory,
                                     struct err *err);
void blocks_deinit(struct blocks *blocks);
/* Forgets what was read: other memory may be mapped there now. */
void blocks_clear(struct blocks *blocks);
/* The code of the failed read if any byte cannot be read; ERR_LIMIT: the budget is spent. */
MUST_CHECK enum err_code blocks_read(struct blocks *blocks, remote_addr addr, void *buffer,
                                     size_t bytes);

/* The address that a stub of the procedure linkage table jumps to, through a word; 0: it is no stub, or cannot be read. */
remote_addr blocks_stub_target(struct blocks *blocks, remote_addr stub);

/* Bytes that a cache holds. */
size_t blocks_bytes(void);

#endif /* SAMPLER_NATIVE_BLOCKS_H */
