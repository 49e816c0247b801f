/*
 * block - a part of a capture: a head, and bytes that are compressed if that makes them shorter.
 *
 *     kind u8, coding u8, 0 u16, raw bytes u32, stored bytes u32,
 *     checksum of the stored bytes u32, checksum of the 16 bytes before u32
 *
 * Codings: 0 as they are, 1 zstd, 2 the first piece of a zstd stream, 3 the next piece of it.  Blocks
 * of one second are small and alike: as pieces of a stream they take half the bytes.  A stream ends
 * after BLOCK_CHAIN_PIECES, so that a reader may begin at the first piece of any stream.
 *
 * Ownership: see the functions; block_chain is the caller's storage, its deinit accepts a zeroed
 * one.
 * Limits: CAPTURE_MAX_BLOCK_BYTES, then ERR_LIMIT.
 */
#ifndef SAMPLER_CAPTURE_BLOCK_H
#define SAMPLER_CAPTURE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/format.h"

struct buffer;

struct block_head {
    unsigned char kind, coding;
    uint32_t raw_bytes, stored_bytes, checksum;
};

enum { BLOCK_CHAIN_PIECES = 32 };

/* Writes or reads blocks that are pieces of streams. */
struct block_chain {
    struct zstd_writer *writer;
    struct zstd_reader *reader;
    unsigned pieces; /* of the current stream; 0: none is open */
};

void block_chain_deinit(struct block_chain *chain);
/* The next block does not continue the current stream. */
void block_chain_break(struct block_chain *chain);
/* Appends a whole block to out, as the next piece of the stream; starts one if none is open. */
MUST_CHECK enum err_code block_chain_encode(struct block_chain *chain, enum capture_kind kind,
                                            const struct buffer *raw, struct buffer *out,
                                            struct err *err);

/* Appends a whole block to out. */
MUST_CHECK enum err_code block_encode(enum capture_kind kind, const struct buffer *raw,
                                      struct buffer *out, struct err *err);

/* Encodes a block without compression. */
MUST_CHECK enum err_code block_encode_plain(enum capture_kind kind, const struct buffer *raw,
                                            struct buffer *out, struct err *err);

/* ERR_CORRUPT: the bytes are not a head. */
MUST_CHECK enum err_code block_head_decode(const unsigned char data[CAPTURE_BLOCK_HEAD_BYTES],
                                           struct block_head *out, struct err *err);
/* Is the block a piece of a stream? */
bool block_is_piece(const struct block_head *head);
/* Replaces the contents of `raw` by the raw bytes. */
MUST_CHECK enum err_code block_decode(struct block_chain *chain, const struct block_head *head,
                                      const void *stored, struct buffer *raw, struct err *err);

#endif /* SAMPLER_CAPTURE_BLOCK_H */
