/*
 * unxz - decompresses .xz.
 *
 * Ownership: *out is the caller's, to be freed.
 * Threads: any.
 * Limits: the caller bounds the output and the time; UNXZ_MAX_MEMORY_BYTES of memory for the decoder,
 * which is enough for all that `xz -9` makes.
 */
#ifndef SAMPLER_PROCESS_UNXZ_H
#define SAMPLER_PROCESS_UNXZ_H

#include <stddef.h>

#include "sampler/base/clock.h"
#include "sampler/base/err.h"

enum { UNXZ_MAX_MEMORY_BYTES = 80 << 20 };

/* ERR_CORRUPT: not .xz, or incomplete.  ERR_LIMIT: the output is longer than max_bytes, or the deadline
 * has passed. */
MUST_CHECK enum err_code unxz(const void *data, size_t bytes, size_t max_bytes,
                              const struct deadline *deadline, unsigned char **out,
                              size_t *out_bytes);

#endif /* SAMPLER_PROCESS_UNXZ_H */
