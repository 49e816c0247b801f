/*
 * core_unpack - unpacks a compressed core into a file without a name, which goes when it is closed.
 *
 * Zeros become holes.  The file is made in TMPDIR, /var/tmp or /tmp, and some of that file system is left to others: a small
 * file may unpack to any size.
 *
 * Threads: any.
 * Limits: max_bytes; CORE_UNPACK_LEFT_BYTES stay free.
 */
#ifndef SAMPLER_PROCESS_CORE_UNPACK_H
#define SAMPLER_PROCESS_CORE_UNPACK_H

#include <stdint.h>

#include "sampler/base/err.h"

#define CORE_UNPACK_LEFT_BYTES (UINT64_C(256) << 20)

/* *fd_out stays -1 if the file is not compressed. ERR_INVALID: it is compressed by another program than zstd. */
MUST_CHECK enum err_code core_unpack(int fd, const char *name, uint64_t max_bytes, int *fd_out,
                                     struct err *err);

#endif /* SAMPLER_PROCESS_CORE_UNPACK_H */
