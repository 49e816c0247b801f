/*
 * block - a piece of a capture: a head, and bytes that are compressed where that is shorter.
 *
 *     kind u8, coding u8 (0 as they are, 1 zstd), 0 u16, raw bytes u32, stored bytes u32,
 *     checksum of the stored bytes u32, checksum of the 16 bytes before u32
 *
 * Ownership: see the functions.
 * Limits: CAPTURE_MAX_BLOCK_BYTES, then ERR_LIMIT.
 * Depends on: bytes, compress, format.
 */
#ifndef SAMPLER_CAPTURE_BLOCK_H
#define SAMPLER_CAPTURE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/format.h"

struct bytes;

struct block_head {
    unsigned char kind, coding;
    uint32_t raw_bytes, stored_bytes, checksum;
};

/* Appends a whole block to out. */
MUST_CHECK enum err_code block_encode(enum capture_kind kind, const struct bytes *raw,
                                      struct bytes *out, struct err *err);

/* ERR_CORRUPT: these are no head. */
MUST_CHECK enum err_code block_head_decode(const unsigned char data[CAPTURE_BLOCK_HEAD_BYTES],
                                           struct block_head *out, struct err *err);
/* Puts the raw bytes in place of what is in `raw`. */
MUST_CHECK enum err_code block_decode(const struct block_head *head, const void *stored,
                                      struct bytes *raw, struct err *err);

#endif /* SAMPLER_CAPTURE_BLOCK_H */
