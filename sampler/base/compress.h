/*
 * compress - gzip and zstd, one shot.  The only place that sees zlib and zstd.
 *
 * Ownership: the returned buffer is the caller's (free).
 * Threads: any.
 * Limits: gzip takes 3.5 GiB, then ERR_LIMIT.
 * Depends on: err.
 */
#ifndef SAMPLER_BASE_COMPRESS_H
#define SAMPLER_BASE_COMPRESS_H

#include <stddef.h>

#include "sampler/base/err.h"

MUST_CHECK enum err_code compress_gzip(const void *data, size_t bytes, int level,
                                       unsigned char **out, size_t *bytes_out, struct err *err);
MUST_CHECK enum err_code compress_zstd(const void *data, size_t bytes, int level,
                                       unsigned char **out, size_t *bytes_out, struct err *err);

#endif /* SAMPLER_BASE_COMPRESS_H */
