#include "sampler/base/compress.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

/* deflate makes data at most 1032 times smaller. */
enum { GZIP_WINDOW_BITS = 15 + 16, STREAM_BYTES = 1 << 15, DEFLATE_MOST = 1032 };

struct gzip_stream {
    z_stream z;
    unsigned char out[STREAM_BYTES];
};

/* The most bytes for one call of deflate, with room for what it may add. */
#define GZIP_MAX_BYTES ((size_t)UINT_MAX / 8 * 7)

static enum err_code start_stream(z_stream *z, int level, struct err *err)
{
    memset(z, 0, sizeof *z);
    switch (deflateInit2(z, level, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY)) {
    case Z_OK: return ERR_OK;
    case Z_STREAM_ERROR: return err_set(err, ERR_INVALID, "there is no gzip level %d", level);
    default: return err_nomem(err);
    }
}

enum err_code compress_gzip(const void *data, size_t bytes, int level, unsigned char **out,
                            size_t *bytes_out, struct err *err)
{
    z_stream z;
    if (bytes > GZIP_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%zu bytes are too many for one gzip member", bytes);
    const enum err_code rc = start_stream(&z, level, err);
    if (rc)
        return rc;
    const size_t bound = deflateBound(&z, (uLong)bytes);
    unsigned char *const buffer = malloc(bound);
    if (!buffer) {
        deflateEnd(&z);
        return err_nomem(err);
    }
    z.next_in = data;
    z.avail_in = (uInt)bytes;
    z.next_out = buffer;
    z.avail_out = (uInt)bound;
    const int status = deflate(&z, Z_FINISH);
    const size_t written = z.total_out;
    deflateEnd(&z);
    if (status != Z_STREAM_END) {
        free(buffer);
        return err_set(err, ERR_SYS, "gzip did not finish");
    }
    *out = buffer;
    *bytes_out = written;
    return ERR_OK;
}

/* How many bytes the member was made of: its last four, little endian. */
static uint32_t plain_bytes(const unsigned char *data, size_t bytes)
{
    uint32_t plain = 0;
    for (size_t i = 0; i < 4 && i < bytes; i++)
        plain = plain << 8 | data[bytes - 1 - i];
    return plain;
}

enum err_code compress_gunzip(const void *data, size_t bytes, unsigned char **out,
                              size_t *bytes_out, struct err *err)
{
    const uint32_t room = plain_bytes(data, bytes);
    if (bytes > UINT_MAX || room / DEFLATE_MOST > bytes)
        return err_set(err, ERR_CORRUPT, "the data were not compressed by gzip");
    unsigned char *const buffer = malloc(room ? room : 1);
    z_stream z = { .next_in = data, .avail_in = (uInt)bytes };
    if (!buffer || inflateInit2(&z, GZIP_WINDOW_BITS) != Z_OK) {
        free(buffer);
        return err_nomem(err);
    }
    z.next_out = buffer;
    z.avail_out = room;
    const int status = inflate(&z, Z_FINISH);
    const bool is_whole = status == Z_STREAM_END && z.avail_in == 0 && z.total_out == room;
    inflateEnd(&z);
    if (!is_whole) {
        free(buffer);
        return err_set(err, ERR_CORRUPT, "the data were not compressed by gzip");
    }
    *out = buffer;
    *bytes_out = room;
    return ERR_OK;
}

enum err_code compress_inflate(const void *data, size_t bytes, void *out, size_t out_bytes,
                               struct err *err)
{
    z_stream z = { .next_in = data, .next_out = out };
    if (bytes > UINT_MAX || out_bytes > UINT_MAX)
        return err_set(err, ERR_LIMIT, "%zu bytes are too many at once", bytes);
    z.avail_in = (uInt)bytes;
    z.avail_out = (uInt)out_bytes;
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return err_nomem(err);
    const int status = inflate(&z, Z_FINISH);
    const bool is_whole = status == Z_STREAM_END && z.avail_in == 0 && z.total_out == out_bytes;
    inflateEnd(&z);
    return is_whole ? ERR_OK : err_set(err, ERR_CORRUPT, "the data are not deflated");
}

enum err_code gzip_stream_create(int level, struct gzip_stream **out, struct err *err)
{
    struct gzip_stream *const stream = malloc(sizeof *stream);
    if (!stream)
        return err_nomem(err);
    const enum err_code rc = start_stream(&stream->z, level, err);
    if (rc)
        free(stream);
    else
        *out = stream;
    return rc;
}

void gzip_stream_destroy(struct gzip_stream *stream)
{
    if (stream)
        deflateEnd(&stream->z);
    free(stream);
}

/* Until there is nothing left to compress, or with Z_FINISH until the end is written. */
static bool pump_stream(struct gzip_stream *stream, int flush,
                        bool (*take)(void *to, const char *data, size_t bytes), void *to)
{
    int status = Z_OK;
    do {
        stream->z.next_out = stream->out;
        stream->z.avail_out = STREAM_BYTES;
        status = deflate(&stream->z, flush);
        const size_t made = STREAM_BYTES - stream->z.avail_out;
        if (status == Z_STREAM_ERROR || (made > 0 && !take(to, (char *)stream->out, made)))
            return false;
    } while (stream->z.avail_out == 0 || (flush == Z_FINISH && status != Z_STREAM_END));
    return true;
}

bool gzip_stream_write(struct gzip_stream *stream, const void *data, size_t bytes, bool is_last,
                       bool (*take)(void *to, const char *data, size_t bytes), void *to)
{
    const unsigned char *at = data;
    while (bytes > GZIP_MAX_BYTES) {
        stream->z.next_in = at;
        stream->z.avail_in = (uInt)GZIP_MAX_BYTES;
        if (!pump_stream(stream, Z_NO_FLUSH, take, to))
            return false;
        at += GZIP_MAX_BYTES;
        bytes -= GZIP_MAX_BYTES;
    }
    stream->z.next_in = at;
    stream->z.avail_in = (uInt)bytes;
    return pump_stream(stream, is_last ? Z_FINISH : Z_NO_FLUSH, take, to);
}

enum err_code compress_zstd(const void *data, size_t bytes, int level, unsigned char **out,
                            size_t *bytes_out, struct err *err)
{
    const size_t bound = ZSTD_compressBound(bytes);
    unsigned char *const buffer = malloc(bound);
    if (!buffer)
        return err_nomem(err);
    const size_t written = ZSTD_compress(buffer, bound, data, bytes, level);
    if (ZSTD_isError(written)) {
        free(buffer);
        return err_set(err, ERR_SYS, "zstd: %s", ZSTD_getErrorName(written));
    }
    *out = buffer;
    *bytes_out = written;
    return ERR_OK;
}

enum err_code compress_unzstd(const void *data, size_t bytes, void *out, size_t out_bytes,
                              struct err *err)
{
    const size_t made = ZSTD_decompress(out, out_bytes, data, bytes);
    if (ZSTD_isError(made))
        return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(made));
    if (made != out_bytes)
        return err_set(err, ERR_CORRUPT, "zstd: %zu bytes instead of %zu", made, out_bytes);
    return ERR_OK;
}

/* Windows of 256 KiB need little memory to search, a megabyte. */
enum { WINDOW_LOG = 18, SEARCH_LOG = 17, READER_WINDOW_LOG = WINDOW_LOG + 3 };

_Static_assert(ZSTD_STREAM_WINDOW_BYTES == 1 << WINDOW_LOG, "the window is as the header says");

struct zstd_writer {
    ZSTD_CCtx *context;
};

struct zstd_reader {
    ZSTD_DCtx *context;
};

enum err_code zstd_writer_create(struct zstd_writer **out, struct err *err)
{
    struct zstd_writer *const writer = malloc(sizeof *writer);
    if (writer)
        writer->context = ZSTD_createCCtx();
    if (!writer || !writer->context) {
        free(writer);
        return err_nomem(err);
    }
    (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_windowLog, WINDOW_LOG);
    (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_chainLog, SEARCH_LOG);
    (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_hashLog, SEARCH_LOG);
    *out = writer;
    return ERR_OK;
}

void zstd_writer_destroy(struct zstd_writer *writer)
{
    if (writer)
        ZSTD_freeCCtx(writer->context);
    free(writer);
}

enum err_code zstd_writer_add(struct zstd_writer *writer, int level, const void *data,
                              size_t bytes, unsigned char **out, size_t *bytes_out,
                              struct err *err)
{
    /* A stream has a few bytes more than a piece of its own: its head, and those of its blocks. */
    const size_t bound = ZSTD_compressBound(bytes) + ZSTD_CStreamOutSize() / 8;
    ZSTD_inBuffer from = { data, bytes, 0 };
    ZSTD_outBuffer to = { malloc(bound), bound, 0 };
    size_t left = 1;
    if (!to.dst)
        return err_nomem(err);
    if (level) {
        (void)ZSTD_CCtx_reset(writer->context, ZSTD_reset_session_only);
        (void)ZSTD_CCtx_setParameter(writer->context, ZSTD_c_compressionLevel, level);
    }
    while (left > 0 && !ZSTD_isError(left) && to.pos < to.size)
        left = ZSTD_compressStream2(writer->context, &to, &from, ZSTD_e_flush);
    if (left > 0) {
        free(to.dst);
        return err_set(err, ERR_SYS, "zstd: %s",
                       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "a piece grew");
    }
    *out = to.dst;
    *bytes_out = to.pos;
    return ERR_OK;
}

enum err_code zstd_reader_create(struct zstd_reader **out, struct err *err)
{
    struct zstd_reader *const reader = malloc(sizeof *reader);
    if (reader)
        reader->context = ZSTD_createDCtx();
    if (!reader || !reader->context) {
        free(reader);
        return err_nomem(err);
    }
    (void)ZSTD_DCtx_setParameter(reader->context, ZSTD_d_windowLogMax, READER_WINDOW_LOG);
    *out = reader;
    return ERR_OK;
}

void zstd_reader_destroy(struct zstd_reader *reader)
{
    if (reader)
        ZSTD_freeDCtx(reader->context);
    free(reader);
}

/* The whole piece was read, but the reader may still hold what had no room. */
static enum err_code check_no_more(struct zstd_reader *reader, size_t out_bytes,
                                   struct err *err)
{
    unsigned char more;
    ZSTD_inBuffer none = { &more, 0, 0 };
    ZSTD_outBuffer to = { &more, sizeof more, 0 };
    (void)ZSTD_decompressStream(reader->context, &to, &none);
    return to.pos ? err_set(err, ERR_CORRUPT, "zstd: more than %zu bytes", out_bytes) : ERR_OK;
}

enum err_code zstd_reader_add(struct zstd_reader *reader, bool is_first, const void *data,
                              size_t bytes, void *out, size_t out_bytes, struct err *err)
{
    ZSTD_inBuffer from = { data, bytes, 0 };
    ZSTD_outBuffer to = { out, out_bytes, 0 };
    if (is_first)
        (void)ZSTD_DCtx_reset(reader->context, ZSTD_reset_session_only);
    while (from.pos < from.size) {
        const size_t from_pos = from.pos, to_pos = to.pos;
        const size_t rc = ZSTD_decompressStream(reader->context, &to, &from);
        if (ZSTD_isError(rc))
            return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(rc));
        if (from.pos == from_pos && to.pos == to_pos)
            return err_set(err, ERR_CORRUPT, "zstd: more than %zu bytes", out_bytes);
    }
    if (to.pos != out_bytes)
        return err_set(err, ERR_CORRUPT, "zstd: %zu bytes instead of %zu", to.pos, out_bytes);
    return check_no_more(reader, out_bytes, err);
}

enum err_code compress_unzstd_file(int fd,
                                   bool (*take)(void *to, const char *data, size_t bytes),
                                   void *to, struct err *err)
{
    enum { PIECE_BYTES = 1 << 17 };
    ZSTD_DCtx *const context = ZSTD_createDCtx();
    char *const in = malloc(PIECE_BYTES), *const out = malloc(PIECE_BYTES);
    enum err_code rc = context && in && out ? ERR_OK : err_nomem(err);
    uint64_t at = 0;
    size_t left = 1; /* 0: at the end of a frame */
    bool goes_on = !rc;
    while (goes_on) {
        const ssize_t n = pread(fd, in, PIECE_BYTES, (off_t)at);
        ZSTD_inBuffer from = { in, n > 0 ? (size_t)n : 0, 0 };
        ZSTD_outBuffer plain = { out, PIECE_BYTES, PIECE_BYTES };
        at += from.size;
        goes_on = n > 0;
        if (n < 0)
            rc = err_sys(err, errno, "cannot read");
        else if (n == 0 && left)
            rc = err_set(err, ERR_CORRUPT, "zstd: the end is missing");
        /* A full buffer may not have been all. */
        while (goes_on && (from.pos < from.size || plain.pos == plain.size)) {
            plain.pos = 0;
            left = ZSTD_decompressStream(context, &plain, &from);
            if (ZSTD_isError(left)) {
                rc = err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(left));
                goes_on = false;
            } else {
                goes_on = !plain.pos || take(to, out, plain.pos);
            }
        }
    }
    free(in);
    free(out);
    ZSTD_freeDCtx(context);
    return rc;
}

enum { PACKED_BYTES = 1 << 16, PACKED_WINDOW_LOG = 27 };

struct compress_reader {
    int fd;
    uint64_t at, to; /* in the file */
    bool is_gzip, is_zstd;
    bool is_at_end;   /* of the file */
    bool is_in_frame; /* of what is packed: more must come */
    z_stream z;
    ZSTD_DCtx *zstd;
    ZSTD_inBuffer in;
    unsigned char packed[PACKED_BYTES];
};

enum err_code compress_reader_create(int fd, uint64_t from, uint64_t to,
                                     struct compress_reader **out, struct err *err)
{
    static const unsigned char gzip[] = { 0x1f, 0x8b }, zstd[] = { 0x28, 0xb5, 0x2f, 0xfd };
    unsigned char first[4] = { 0 };
    const ssize_t n = pread(fd, first, sizeof first, (off_t)from);
    if (n < 0)
        return err_sys(err, errno, "cannot read");
    struct compress_reader *const reader = calloc(1, sizeof *reader);
    if (!reader)
        return err_nomem(err);
    reader->fd = fd;
    reader->at = from;
    reader->to = to;
    reader->in.src = reader->packed;
    const bool is_gzip = memcmp(first, gzip, sizeof gzip) == 0;
    reader->is_zstd = memcmp(first, zstd, sizeof zstd) == 0;
    reader->is_gzip = is_gzip && inflateInit2(&reader->z, GZIP_WINDOW_BITS) == Z_OK;
    if (reader->is_zstd && (reader->zstd = ZSTD_createDCtx()) != NULL)
        (void)ZSTD_DCtx_setParameter(reader->zstd, ZSTD_d_windowLogMax, PACKED_WINDOW_LOG);
    if (is_gzip != reader->is_gzip || reader->is_zstd != (reader->zstd != NULL)) {
        compress_reader_destroy(reader);
        return err_nomem(err);
    }
    *out = reader;
    return ERR_OK;
}

void compress_reader_destroy(struct compress_reader *reader)
{
    if (reader && reader->is_gzip)
        inflateEnd(&reader->z);
    if (reader)
        ZSTD_freeDCtx(reader->zstd);
    free(reader);
}

/* Unpacks what is there; more than one member may follow another. */
static enum err_code unpack_next(struct compress_reader *reader, void *out, size_t bytes,
                                 size_t *bytes_out, struct err *err)
{
    if (reader->is_zstd) {
        ZSTD_outBuffer plain = { out, bytes, 0 };
        const size_t left = ZSTD_decompressStream(reader->zstd, &plain, &reader->in);
        if (ZSTD_isError(left))
            return err_set(err, ERR_CORRUPT, "zstd: %s", ZSTD_getErrorName(left));
        reader->is_in_frame = left > 0;
        *bytes_out = plain.pos;
        return ERR_OK;
    }
    z_stream *const z = &reader->z;
    z->next_in = reader->packed + reader->in.pos;
    z->avail_in = (uInt)(reader->in.size - reader->in.pos);
    z->next_out = out;
    z->avail_out = bytes > UINT_MAX ? UINT_MAX : (uInt)bytes;
    const uInt room = z->avail_out;
    const int status = inflate(z, Z_NO_FLUSH);
    *bytes_out = room - z->avail_out;
    reader->in.pos = reader->in.size - z->avail_in;
    reader->is_in_frame = status != Z_STREAM_END;
    if (status == Z_STREAM_END)
        (void)inflateReset(z);
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return err_set(err, ERR_CORRUPT, "gzip: the data are damaged");
    return ERR_OK;
}

enum err_code compress_reader_read(struct compress_reader *reader, void *out, size_t bytes,
                                   size_t *bytes_out, struct err *err)
{
    const bool is_plain = !reader->is_gzip && !reader->is_zstd;
    *bytes_out = 0;
    while (*bytes_out == 0 && bytes > 0) {
        if (!is_plain && (reader->in.pos < reader->in.size || reader->is_in_frame)) {
            const size_t before = reader->in.pos;
            const enum err_code rc = unpack_next(reader, out, bytes, bytes_out, err);
            if (rc || *bytes_out > 0)
                return rc;
            if (reader->in.pos < reader->in.size && reader->in.pos == before)
                return err_set(err, ERR_CORRUPT, "what is packed is damaged");
            if (reader->in.pos < reader->in.size)
                continue;
        }
        if (reader->is_at_end)
            return reader->is_in_frame && !is_plain
                       ? err_set(err, ERR_CORRUPT,
                                 "the file was cut: the end of what is packed is missing")
                       : ERR_OK;
        void *const to = is_plain ? out : reader->packed;
        const uint64_t left = reader->to - reader->at;
        size_t room = is_plain ? bytes : sizeof reader->packed;
        room = left < room ? (size_t)left : room;
        const ssize_t n = pread(reader->fd, to, room, (off_t)reader->at);
        if (n < 0)
            return err_sys(err, errno, "cannot read");
        reader->at += (uint64_t)n;
        reader->is_at_end = n == 0;
        if (is_plain)
            *bytes_out = (size_t)n;
        reader->in.size = (size_t)n;
        reader->in.pos = 0;
    }
    return ERR_OK;
}

uint32_t compress_crc32(const void *data, size_t bytes)
{
    return compress_crc32_add(0, data, bytes);
}

uint32_t compress_crc32_add(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}
