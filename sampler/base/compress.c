#include "sampler/base/compress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW_BITS = 15 + 16 };

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
