#define _GNU_SOURCE
#include "sampler/capture/block_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/read_at.h"
#include "sampler/capture/format.h"

enum { MAGIC_BYTES = sizeof CAPTURE_MAGIC - 1 };

static enum err_code cannot_read(int sys, struct err *err)
{
    err_sys(err, sys ? sys : EIO, "it cannot be read");
    return ERR_SYS;
}

enum err_code block_reader_open(struct block_reader *blocks, int fd, struct err *err)
{
    struct stat status;
    *blocks = (struct block_reader){ .fd = fd };
    if (fstat(blocks->fd, &status) != 0)
        return err_set(err, ERR_SYS, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return err_set(err, ERR_UNSUPPORTED,
                       S_ISDIR(status.st_mode) ? "it is a folder, not a capture"
                                               : "it is not a regular file");
    blocks->size = (uint64_t)status.st_size;

    unsigned char preamble[CAPTURE_PREAMBLE_BYTES];
    const size_t bytes = blocks->size < sizeof preamble ? blocks->size : sizeof preamble;
    const size_t magic = bytes < MAGIC_BYTES ? bytes : MAGIC_BYTES;
    if (!read_at(blocks->fd, preamble, bytes, 0))
        return cannot_read(errno, err);
    if (bytes == 0)
        return err_set(err, ERR_CORRUPT, "it is empty");
    if (memcmp(preamble, CAPTURE_MAGIC, magic) != 0)
        return err_set(err, ERR_UNSUPPORTED, "not a Pyrometer capture (.pyro)");
    if (bytes < sizeof preamble)
        return err_set(err, ERR_CORRUPT, "it was cut after %zu bytes and holds no samples",
                       bytes);
    blocks->at = sizeof preamble;

    const unsigned char *const at = preamble + MAGIC_BYTES;
    const unsigned major = at[0] | (unsigned)at[1] << 8;
    const unsigned minor = at[2] | (unsigned)at[3] << 8;
    if (major > CAPTURE_MAJOR)
        return err_set(
            err, ERR_UNSUPPORTED,
            "its format is %u.%u, and this pyrometer reads up to %d: use a newer one", major,
            minor, CAPTURE_MAJOR);
    if (major == 0)
        return err_set(err, ERR_CORRUPT, "its version number is invalid");
    return ERR_OK;
}

void block_reader_close(struct block_reader *blocks)
{
    if (blocks->fd >= 0)
        close(blocks->fd);
    buffer_deinit(&blocks->stored);
    block_chain_deinit(&blocks->chain);
    blocks->fd = -1;
}

static bool is_zero(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i])
            return false;
    return true;
}

static enum err_code at_byte(enum err_code rc, uint64_t at, struct err *err)
{
    return err_wrap(err, rc, "damaged at byte %" PRIu64, at);
}

static enum err_code no_more(struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "the capture has no more blocks");
}

static enum err_code read_stored(struct block_reader *blocks, const struct block_head *head,
                                 struct err *err)
{
    char *const stored = buffer_replace(&blocks->stored, head->stored_bytes);
    if (!stored)
        return buffer_check(&blocks->stored, err);
    if (!read_at(blocks->fd, stored, head->stored_bytes, blocks->at + CAPTURE_BLOCK_HEAD_BYTES))
        return errno ? cannot_read(errno, err) : no_more(err);
    return ERR_OK;
}

/* Bytes that a power cut left unwritten read as zeros: the file ends before them. */
static enum err_code read_head(const struct block_reader *blocks, struct block_head *head,
                               struct err *err)
{
    unsigned char data[CAPTURE_BLOCK_HEAD_BYTES];
    if (blocks->size - blocks->at < sizeof data)
        return no_more(err);
    if (!read_at(blocks->fd, data, sizeof data, blocks->at))
        return errno ? cannot_read(errno, err) : no_more(err);
    if (is_zero(data, sizeof data))
        return no_more(err);
    const enum err_code rc = block_head_decode(data, head, err);
    if (rc)
        return at_byte(rc, blocks->at, err);
    const uint64_t left = blocks->size - blocks->at - sizeof data;
    return head->stored_bytes > left ? no_more(err) : ERR_OK;
}

static bool is_known(unsigned kind)
{
    return kind == CAPTURE_METADATA || kind == CAPTURE_ROWS || kind == CAPTURE_WINDOWS ||
           kind == CAPTURE_MEASURED || kind == CAPTURE_SOURCE || kind == CAPTURE_MEMORY ||
           kind == CAPTURE_END;
}

/* Is this block of samples wanted? */
static bool is_wanted(struct wanted_blocks *wanted, uint64_t at)
{
    wanted->met_from |= at == wanted->from;
    wanted->met_to |= at == wanted->to;
    wanted->met_also |= at == wanted->also;
    return !wanted->is_part || (at >= wanted->from && at < wanted->to) || at >= wanted->also;
}

enum err_code block_reader_next(struct block_reader *blocks, struct block_head *head,
                                struct buffer *raw, struct err *err)
{
    for (;;) {
        const uint64_t at = blocks->at;
        enum err_code rc = read_head(blocks, head, err);
        if (rc)
            return rc;

        /* A kind that may be skipped, or is not wanted. */
        const bool skips =
            (head->kind >= 'a' && head->kind <= 'z' && !is_known(head->kind)) ||
            (head->kind == CAPTURE_WINDOWS && !is_wanted(&blocks->wanted, blocks->at));

        if (!is_known(head->kind) && !skips)
            return err_set(err, ERR_UNSUPPORTED,
                           "the block at byte %" PRIu64
                           " is of a kind that this pyrometer does not know: use a newer one",
                           at);
        if (skips) {
            if (head->kind == CAPTURE_WINDOWS)
                block_chain_break(&blocks->chain);
        } else {
            rc = read_stored(blocks, head, err);
            if (!rc && (rc = block_decode(&blocks->chain, head, blocks->stored.data, raw, err)))
                rc = at_byte(rc, at, err);
        }
        if (!rc)
            blocks->at = at + CAPTURE_BLOCK_HEAD_BYTES + head->stored_bytes;
        if (rc || !skips)
            return rc;
    }
}

uint64_t block_reader_end_at(const struct block_reader *blocks)
{
    unsigned char trailer[CAPTURE_TRAILER_BYTES] = { 0 };
    struct byte_reader in = byte_reader_of(trailer, sizeof trailer);
    if (blocks->size < CAPTURE_PREAMBLE_BYTES + sizeof trailer ||
        !read_at(blocks->fd, trailer, sizeof trailer, blocks->size - sizeof trailer))
        return 0;
    const uint64_t at = byte_reader_u64(&in);
    const bool is_trailer = memcmp(in.at, CAPTURE_MAGIC, MAGIC_BYTES) == 0;
    return is_trailer && at >= CAPTURE_PREAMBLE_BYTES &&
                   at <= blocks->size - CAPTURE_TRAILER_BYTES - CAPTURE_BLOCK_HEAD_BYTES
               ? at
               : 0;
}
