#include "sampler/native/name_store.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/compress.h"
#include "sampler/base/scoped.h"
#include "sampler/base/vec.h"

enum {
    OFFSET_BITS = 15, /* an id is the block's index and the offset in it */
    MAX_BLOCKS = NAME_STORE_MAX_BYTES / NAME_STORE_BLOCK_BYTES,
    LEVEL = 1,
};
_Static_assert(NAME_STORE_BLOCK_BYTES == 1 << OFFSET_BITS, "an offset has all its bits");
_Static_assert(NAME_STORE_MAX_NAME < NAME_STORE_BLOCK_BYTES, "a name fits into a block");

struct name_store_block {
    unsigned char *data;
    uint32_t bytes, raw_bytes; /* compressed, and before */
};

void name_store_deinit(struct name_store *store)
{
    for (size_t i = 0; i < store->count; i++)
        free(store->blocks[i].data);
    free(store->blocks);
    free(store->open);
    *store = (struct name_store){ 0 };
}

/* Compresses the open block and leaves it empty. */
static enum err_code seal_block(struct name_store *store)
{
    unsigned char *data;
    size_t bytes;
    if (store->used == 0)
        return ERR_OK;
    if (!VEC_RESERVE(store->blocks, store->room, store->count + 1))
        return ERR_NOMEM;
    const enum err_code rc =
        compress_zstd(store->open, store->used, LEVEL, &data, &bytes, NULL);
    if (rc)
        return rc;
    unsigned char *const shrunk = realloc(data, bytes);
    store->blocks[store->count++] = (struct name_store_block){
        .data = shrunk ? shrunk : data,
        .bytes = (uint32_t)bytes,
        .raw_bytes = (uint32_t)store->used,
    };
    store->compressed_bytes += bytes;
    store->used = 0;
    return ERR_OK;
}

enum err_code name_store_add(struct name_store *store, const char *name, size_t length,
                             uint32_t *id_out)
{
    length = length < NAME_STORE_MAX_NAME ? length : NAME_STORE_MAX_NAME;
    if (!store->open)
        store->open = malloc(NAME_STORE_BLOCK_BYTES);
    if (!store->open)
        return ERR_NOMEM;
    if (NAME_STORE_BLOCK_BYTES - store->used < length + 1) {
        if (store->count + 1 >= MAX_BLOCKS ||
            store->compressed_bytes >= NAME_STORE_MAX_COMPRESSED_BYTES)
            return ERR_LIMIT;
        const enum err_code rc = seal_block(store);
        if (rc)
            return rc;
    }
    *id_out = (uint32_t)(store->count << OFFSET_BITS | store->used);
    memcpy(store->open + store->used, name, length);
    store->open[store->used + length] = '\0';
    store->used += length + 1;
    return ERR_OK;
}

enum err_code name_store_append(struct name_store *store, struct name_store *other,
                                uint32_t *shift_out)
{
    if (seal_block(store) || seal_block(other) ||
        !VEC_RESERVE(store->blocks, store->room, store->count + other->count))
        return ERR_NOMEM;
    *shift_out = (uint32_t)(store->count << OFFSET_BITS);
    for (size_t i = 0; i < other->count; i++)
        store->blocks[store->count++] = other->blocks[i];
    store->compressed_bytes += other->compressed_bytes;
    other->count = 0;
    name_store_deinit(other);
    return ERR_OK;
}

enum err_code name_store_close(struct name_store *store)
{
    const enum err_code rc = seal_block(store);
    free(store->open);
    store->open = NULL;
    if (rc || !store->count)
        return rc;
    struct name_store_block *const shrunk =
        realloc(store->blocks, store->count * sizeof *store->blocks);
    if (shrunk) {
        store->blocks = shrunk;
        store->room = store->count;
    }
    return ERR_OK;
}

size_t name_store_read(const struct name_store *store, uint32_t id,
                       char out[NAME_STORE_MAX_NAME + 1])
{
    const size_t index = id >> OFFSET_BITS, offset = id & (NAME_STORE_BLOCK_BYTES - 1);
    *out = '\0';
    if (index >= store->count || offset >= store->blocks[index].raw_bytes)
        return 0;
    const struct name_store_block *const block = &store->blocks[index];
    SCOPED_FREE char *raw = malloc(block->raw_bytes);
    if (!raw || compress_unzstd(block->data, block->bytes, raw, block->raw_bytes, NULL))
        return 0;
    const size_t length = strlen(raw + offset);
    memcpy(out, raw + offset, length + 1);
    return length;
}

size_t name_store_bytes(const struct name_store *store)
{
    return store->compressed_bytes + store->room * sizeof *store->blocks +
           (store->open ? NAME_STORE_BLOCK_BYTES : 0);
}
