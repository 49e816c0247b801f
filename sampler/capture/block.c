#include "sampler/capture/block.h"

#include <stdlib.h>

#include "sampler/base/compress.h"
#include "sampler/capture/bytes.h"

enum { CODING_NONE, CODING_ZSTD };
/* Compression is not on the sampling path, and blocks come every few seconds. */
enum { ZSTD_LEVEL = 9, CHECKED_HEAD_BYTES = 16 };

static void put_head(struct bytes *out, enum capture_kind kind, unsigned coding, size_t raw,
                     const void *stored, size_t stored_bytes)
{
    const size_t start = out->count;
    bytes_u8(out, kind);
    bytes_u8(out, coding);
    bytes_u8(out, 0);
    bytes_u8(out, 0);
    bytes_u32(out, (uint32_t)raw);
    bytes_u32(out, (uint32_t)stored_bytes);
    bytes_u32(out, compress_crc32(stored, stored_bytes));
    if (!out->is_short)
        bytes_u32(out, compress_crc32(out->data + start, CHECKED_HEAD_BYTES));
}

enum err_code block_encode(enum capture_kind kind, const struct bytes *raw, struct bytes *out,
                           struct err *err)
{
    unsigned char *packed = NULL;
    size_t packed_bytes = 0;
    if (raw->count > CAPTURE_MAX_BLOCK_BYTES)
        return err_set(err, ERR_LIMIT, "a block of %zu bytes is too long", raw->count);
    enum err_code rc = bytes_check(raw, err);
    if (!rc)
        rc = compress_zstd(raw->data, raw->count, ZSTD_LEVEL, &packed, &packed_bytes, err);
    if (rc)
        return rc;
    const bool is_shorter = packed_bytes < raw->count;
    const void *const stored = is_shorter ? packed : raw->data;
    const size_t stored_bytes = is_shorter ? packed_bytes : raw->count;
    put_head(out, kind, is_shorter ? CODING_ZSTD : CODING_NONE, raw->count, stored,
             stored_bytes);
    bytes_put(out, stored, stored_bytes);
    free(packed);
    return bytes_check(out, err);
}

enum err_code block_head_decode(const unsigned char data[CAPTURE_BLOCK_HEAD_BYTES],
                                struct block_head *out, struct err *err)
{
    struct cursor cursor = cursor_of(data, CAPTURE_BLOCK_HEAD_BYTES);
    out->kind = (unsigned char)cursor_u8(&cursor);
    out->coding = (unsigned char)cursor_u8(&cursor);
    (void)cursor_take(&cursor, 2);
    out->raw_bytes = cursor_u32(&cursor);
    out->stored_bytes = cursor_u32(&cursor);
    out->checksum = cursor_u32(&cursor);
    if (cursor_u32(&cursor) != compress_crc32(data, CHECKED_HEAD_BYTES))
        return err_set(err, ERR_CORRUPT, "the head of a block has a wrong checksum");
    if (out->raw_bytes > CAPTURE_MAX_BLOCK_BYTES || out->stored_bytes > CAPTURE_MAX_BLOCK_BYTES)
        return err_set(err, ERR_CORRUPT, "a block says it has %u bytes", out->raw_bytes);
    return ERR_OK;
}

enum err_code block_decode(const struct block_head *head, const void *stored, struct bytes *raw,
                           struct err *err)
{
    if (compress_crc32(stored, head->stored_bytes) != head->checksum)
        return err_set(err, ERR_CORRUPT, "a block has a wrong checksum");
    bytes_clear(raw);
    if (head->coding == CODING_NONE && head->raw_bytes == head->stored_bytes) {
        bytes_put(raw, stored, head->stored_bytes);
        return bytes_check(raw, err);
    }
    if (head->coding != CODING_ZSTD)
        return err_set(err, ERR_CORRUPT, "a block has an unknown coding");
    if (raw->room < head->raw_bytes) {
        bytes_deinit(raw);
        raw->data = malloc(head->raw_bytes);
        if (!raw->data)
            return err_set(err, ERR_NOMEM, "no memory for a block of %u bytes",
                           head->raw_bytes);
        raw->room = head->raw_bytes;
    }
    raw->count = head->raw_bytes;
    return compress_unzstd(stored, head->stored_bytes, raw->data, raw->count, err);
}
