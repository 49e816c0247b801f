#include "sampler/capture/block.h"

#include <stdlib.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/compress.h"

enum { CODING_NONE, CODING_ZSTD, CODING_FIRST, CODING_NEXT };
/* Blocks are written every second, on a thread of their own.  The higher level makes small blocks much shorter, and
 * takes a millisecond for each.  Large blocks, of many samples a second, would be a tenth shorter with it, but would
 * take a fifth of the profiler's CPU time. */
enum {
    ZSTD_LEVEL = 9,
    SMALL_ZSTD_LEVEL = 16,
    SMALL_BYTES = 1 << 13,
    CHECKED_HEAD_BYTES = 16,
};

static void put_head(struct buffer *out, enum capture_kind kind, unsigned coding, size_t raw,
                     const void *stored, size_t stored_bytes)
{
    const size_t start = out->length;
    buffer_u8(out, kind);
    buffer_u8(out, coding);
    buffer_u8(out, 0);
    buffer_u8(out, 0);
    buffer_u32(out, (uint32_t)raw);
    buffer_u32(out, (uint32_t)stored_bytes);
    buffer_u32(out, compress_crc32(stored, stored_bytes));
    if (!out->failed)
        buffer_u32(out, compress_crc32(out->data + start, CHECKED_HEAD_BYTES));
}

static enum err_code check_length(const struct buffer *raw, struct err *err)
{
    if (raw->length > CAPTURE_MAX_BLOCK_BYTES)
        return err_set(err, ERR_LIMIT, "a block of %zu bytes is too long", raw->length);
    return buffer_check(raw, err);
}

enum err_code block_encode(enum capture_kind kind, const struct buffer *raw, struct buffer *out,
                           struct err *err)
{
    unsigned char *packed = NULL;
    size_t packed_bytes = 0;
    enum err_code rc = check_length(raw, err);
    if (!rc)
        rc = compress_zstd(raw->data, raw->length, ZSTD_LEVEL, &packed, &packed_bytes, err);
    if (rc)
        return rc;
    const bool is_shorter = packed_bytes < raw->length;
    const void *const stored = is_shorter ? (const void *)packed : raw->data;
    const size_t stored_bytes = is_shorter ? packed_bytes : raw->length;
    put_head(out, kind, is_shorter ? CODING_ZSTD : CODING_NONE, raw->length, stored,
             stored_bytes);
    buffer_append(out, stored, stored_bytes);
    free(packed);
    return buffer_check(out, err);
}

enum err_code block_encode_plain(enum capture_kind kind, const struct buffer *raw,
                                 struct buffer *out, struct err *err)
{
    const enum err_code rc = check_length(raw, err);
    if (rc)
        return rc;
    put_head(out, kind, CODING_NONE, raw->length, raw->data, raw->length);
    buffer_append(out, raw->data, raw->length);
    return buffer_check(out, err);
}

void block_chain_deinit(struct block_chain *chain)
{
    zstd_writer_destroy(chain->writer);
    zstd_reader_destroy(chain->reader);
    *chain = (struct block_chain){ 0 };
}

void block_chain_break(struct block_chain *chain)
{
    chain->pieces = 0;
}

enum err_code block_chain_encode(struct block_chain *chain, enum capture_kind kind,
                                 const struct buffer *raw, struct buffer *out, struct err *err)
{
    unsigned char *packed = NULL;
    size_t packed_bytes = 0;
    const bool is_first = chain->pieces == 0;
    const int level = raw->length < SMALL_BYTES ? SMALL_ZSTD_LEVEL : ZSTD_LEVEL;
    enum err_code rc = check_length(raw, err);
    if (!rc && !chain->writer)
        rc = zstd_writer_create(&chain->writer, err);
    if (!rc)
        rc = zstd_writer_add(chain->writer, is_first ? level : 0, raw->data, raw->length,
                             &packed, &packed_bytes, err);
    if (rc)
        return rc;
    put_head(out, kind, is_first ? CODING_FIRST : CODING_NEXT, raw->length, packed,
             packed_bytes);
    buffer_append(out, packed, packed_bytes);
    free(packed);
    chain->pieces = (chain->pieces + 1) % BLOCK_CHAIN_PIECES;
    return buffer_check(out, err);
}

enum err_code block_head_decode(const unsigned char data[CAPTURE_BLOCK_HEAD_BYTES],
                                struct block_head *out, struct err *err)
{
    struct byte_reader in = byte_reader_of(data, CAPTURE_BLOCK_HEAD_BYTES);
    out->kind = (unsigned char)byte_reader_u8(&in);
    out->coding = (unsigned char)byte_reader_u8(&in);
    (void)byte_reader_take(&in, 2);
    out->raw_bytes = byte_reader_u32(&in);
    out->stored_bytes = byte_reader_u32(&in);
    out->checksum = byte_reader_u32(&in);
    if (byte_reader_u32(&in) != compress_crc32(data, CHECKED_HEAD_BYTES))
        return err_set(err, ERR_CORRUPT, "the head of a block has a wrong checksum");
    if (out->raw_bytes > CAPTURE_MAX_BLOCK_BYTES || out->stored_bytes > CAPTURE_MAX_BLOCK_BYTES)
        return err_set(err, ERR_CORRUPT,
                       "a block has an invalid length: %u bytes, stored as %u", out->raw_bytes,
                       out->stored_bytes);
    return ERR_OK;
}

bool block_is_piece(const struct block_head *head)
{
    return head->coding == CODING_FIRST || head->coding == CODING_NEXT;
}

enum err_code block_decode(struct block_chain *chain, const struct block_head *head,
                           const void *stored, struct buffer *raw, struct err *err)
{
    if (compress_crc32(stored, head->stored_bytes) != head->checksum)
        return err_set(err, ERR_CORRUPT, "a block has a wrong checksum");
    buffer_clear(raw);
    if (head->coding == CODING_NONE && head->raw_bytes == head->stored_bytes) {
        buffer_append(raw, stored, head->stored_bytes);
        return buffer_check(raw, err);
    }
    if (head->coding < CODING_ZSTD || head->coding > CODING_NEXT)
        return err_set(err, ERR_CORRUPT, "a block has an unknown coding");
    if (!buffer_replace(raw, head->raw_bytes))
        return buffer_check(raw, err);
    if (block_is_piece(head)) {
        const bool is_first = head->coding == CODING_FIRST;
        enum err_code rc = ERR_OK;
        if (!is_first && !chain->pieces)
            return err_set(err, ERR_CORRUPT, "a block continues one that is missing");
        if (!chain->reader)
            rc = zstd_reader_create(&chain->reader, err);
        if (!rc)
            rc = zstd_reader_add(chain->reader, is_first, stored, head->stored_bytes, raw->data,
                                 raw->length, err);
        chain->pieces = !rc;
        return rc;
    }
    return compress_unzstd(stored, head->stored_bytes, raw->data, raw->length, err);
}
