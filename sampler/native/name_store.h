/*
 * name_store - many names in little memory.
 *
 * Names of C++ and Rust are long and alike, so they are stored in blocks that are compressed.  Storing
 * all names and then reading some is what it is for: reading a name decompresses its block, which takes
 * about 20 us.
 *
 * Ownership: the caller's storage; a zeroed struct is an empty store.
 * Threads: one while names are added; then any number may read.
 * Limits: NAME_STORE_MAX_BYTES of names and NAME_STORE_MAX_COMPRESSED_BYTES of what becomes of them, twice that of two
 * stores in one; NAME_STORE_MAX_NAME bytes of each name, longer ones are cut.
 */
#ifndef SAMPLER_NATIVE_NAME_STORE_H
#define SAMPLER_NATIVE_NAME_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum {
    NAME_STORE_MAX_BYTES = 128 << 20,           /* before they are compressed */
    NAME_STORE_MAX_COMPRESSED_BYTES = 32 << 20, /* real names become a tenth */
    NAME_STORE_MAX_NAME = 4095,
    NAME_STORE_BLOCK_BYTES = 1 << 15,
};

struct name_store_block;

struct name_store {
    struct name_store_block *blocks;
    size_t count, room;
    size_t used, compressed_bytes;
    char *open; /* the block that is being filled; NULL: none */
};

void name_store_deinit(struct name_store *store);
/* ERR_LIMIT: the store is full. */
MUST_CHECK enum err_code name_store_add(struct name_store *store, const char *name,
                                        size_t length, uint32_t *id_out);
/* Moves the names of another store to the end of this one; the other is empty then.  An id of the other is
 * one of this store after the shift is added.  ERR_NOMEM: both are as before. */
MUST_CHECK enum err_code name_store_append(struct name_store *store, struct name_store *other,
                                           uint32_t *shift_out);
/* After the last name. */
MUST_CHECK enum err_code name_store_close(struct name_store *store);
/* Returns the length; 0 and an empty text: there is no memory. */
size_t name_store_read(const struct name_store *store, uint32_t id,
                       char out[NAME_STORE_MAX_NAME + 1]);
/* Bytes of memory. */
size_t name_store_bytes(const struct name_store *store);

#endif /* SAMPLER_NATIVE_NAME_STORE_H */
