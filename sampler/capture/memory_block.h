/*
 * memory_block - the memory of processes along time in a capture: steps of a log (memory_log.h), in blocks of their own.
 *
 * Limits: MEMORY_BLOCK_MAX_USES rows of a block.
 * Units: in a block, memory in KiB and times in nanoseconds, each step relative to the end of the one before.
 */
#ifndef SAMPLER_CAPTURE_MEMORY_BLOCK_H
#define SAMPLER_CAPTURE_MEMORY_BLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/memory_log.h"

struct buffer;
struct byte_reader;

enum { MEMORY_BLOCK_MAX_USES = 1 << 14 };

/* Appends the steps of the log from *next on, as many as a block holds, and sets *next to the first that it does not hold.  Rows of processes that
 * are not below `processes` are left out.  false: none are left. */
bool memory_block_encode(const struct memory_log *log, size_t *next, uint32_t processes,
                         struct buffer *out);
/* Appends the steps to the log.  ERR_CORRUPT: it is invalid, or names processes not below `processes`. */
MUST_CHECK enum err_code memory_block_decode(struct byte_reader *in, uint32_t processes,
                                             struct memory_log *log, struct err *err);

#endif /* SAMPLER_CAPTURE_MEMORY_BLOCK_H */
