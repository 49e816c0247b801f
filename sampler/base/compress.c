#include "sampler/base/compress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

enum { GZIP_WINDOW_BITS = 15 + 16 };

enum err_code compress_gzip(const void *data, size_t bytes, int level, unsigned char **out,
                            size_t *bytes_out, struct err *err)
{
    z_stream z;
    memset(&z, 0, sizeof z);
    if (bytes > UINT_MAX)
        return err_set(err, ERR_LIMIT, "%zu bytes are too many for one gzip member", bytes);
    if (deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return err_set(err, ERR_NOMEM, "no memory to compress");
    const size_t bound = deflateBound(&z, (uLong)bytes);
    unsigned char *const buffer = malloc(bound);
    if (!buffer || bound > UINT_MAX) {
        deflateEnd(&z);
        free(buffer);
        return err_set(err, ERR_NOMEM, "no memory to compress %zu bytes", bytes);
    }
    z.next_in = data;
    z.avail_in = (uInt)bytes;
    z.next_out = buffer;
    z.avail_out = (uInt)bound;
    const int rc = deflate(&z, Z_FINISH);
    const size_t written = z.total_out;
    deflateEnd(&z);
    if (rc != Z_STREAM_END) {
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
