#include "sampler/base/compress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW_BITS = 15 + 16, STREAM_BYTES = 1 << 15 };

struct gzip_stream {
    z_stream z;
    unsigned char out[STREAM_BYTES];
};

/* What deflate can be given in one call, with room for what it may add. */
#define GZIP_MAX_BYTES ((size_t)UINT_MAX / 8 * 7)

static enum err_code start(z_stream *z, int level, struct err *err)
{
    memset(z, 0, sizeof *z);
    switch (deflateInit2(z, level, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY)) {
    case Z_OK: return ERR_OK;
    case Z_STREAM_ERROR: return err_set(err, ERR_INVALID, "there is no gzip level %d", level);
    default: return err_set(err, ERR_NOMEM, "no memory to compress");
    }
}

enum err_code compress_gzip(const void *data, size_t bytes, int level, unsigned char **out,
                            size_t *bytes_out, struct err *err)
{
    z_stream z;
    if (bytes > GZIP_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%zu bytes are too many for one gzip member", bytes);
    const enum err_code rc = start(&z, level, err);
    if (rc)
        return rc;
    const size_t bound = deflateBound(&z, (uLong)bytes);
    unsigned char *const buffer = malloc(bound);
    if (!buffer) {
        deflateEnd(&z);
        return err_set(err, ERR_NOMEM, "no memory to compress %zu bytes", bytes);
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

enum err_code gzip_stream_create(int level, struct gzip_stream **out, struct err *err)
{
    struct gzip_stream *const stream = malloc(sizeof *stream);
    if (!stream)
        return err_set(err, ERR_NOMEM, "no memory to compress");
    const enum err_code rc = start(&stream->z, level, err);
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
static bool pump(struct gzip_stream *stream, int flush,
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
        if (!pump(stream, Z_NO_FLUSH, take, to))
            return false;
        at += GZIP_MAX_BYTES;
        bytes -= GZIP_MAX_BYTES;
    }
    stream->z.next_in = at;
    stream->z.avail_in = (uInt)bytes;
    return pump(stream, is_last ? Z_FINISH : Z_NO_FLUSH, take, to);
}

enum err_code compress_zstd(const void *data, size_t bytes, int level, unsigned char **out,
                            size_t *bytes_out, struct err *err)
{
    const size_t bound = ZSTD_compressBound(bytes);
    unsigned char *const buffer = malloc(bound);
    if (!buffer)
        return err_set(err, ERR_NOMEM, "no memory to compress %zu bytes", bytes);
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

uint32_t compress_crc32(const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(0, data, bytes);
}
