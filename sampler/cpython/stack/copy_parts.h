/*
 * copy_parts - shared by the files of copy: copy.c compares a reading with the last one and finds the running frame,
 * copy_plan.c chooses what is read, copy_settle.c makes a reading and handles what did not arrive, copy_chunks.c follows
 * the list of chunks, copy_off_chunk.c handles off-chunk frames.
 */
#ifndef SAMPLER_CPYTHON_STACK_COPY_PARTS_H
#define SAMPLER_CPYTHON_STACK_COPY_PARTS_H

#include <stdbool.h>

#include "sampler/cpython/stack/copy.h"

enum {
    COPY_SLACK_BYTES = 512,  /* above the top of the stack, for what is pushed next */
    COPY_CHUNK_USED_AT = 16, /* in a chunk's header: the words used */
};

static inline bool copy_chunk_holds(const struct copy_chunk *chunk, remote_addr addr)
{
    return addr >= chunk->addr + COPY_CHUNK_HEADER_BYTES && addr <= chunk->addr + chunk->size;
}

/* NULL: the frame is not copied. */
struct copy_off_chunk *copy_find_off_chunk(const struct copy *copy, remote_addr addr);
void copy_drop_cframe(struct copy *copy, size_t at);
/* Rebuilds the index after off-chunk frames have moved in the table.  It has room for what it held
 * before, so this cannot fail. */
void copy_index_off_chunk(struct copy *copy);

#endif /* SAMPLER_CPYTHON_STACK_COPY_PARTS_H */
