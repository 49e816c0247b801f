/*
 * block_reader - reads the blocks of a capture file, and finds where a cut file ends.
 *
 * Ownership: the caller's storage; block_reader_close accepts a zeroed one with fd -1.
 * Threads: one at a time.
 */
#ifndef SAMPLER_CAPTURE_BLOCK_READER_H
#define SAMPLER_CAPTURE_BLOCK_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/capture/block.h"

/* Which blocks of samples: those at offsets from `from` to before `to`, and those from `also` on. */
struct wanted_blocks {
    bool is_part;                    /* false: all */
    uint64_t from, to, also;         /* from 0: the first one; to UINT64_MAX: no end */
    bool met_from, met_to, met_also; /* there is a block at that offset */
};

struct block_reader {
    int fd;
    uint64_t size; /* when it was opened */
    uint64_t at;   /* of the next block */
    struct wanted_blocks wanted;
    struct buffer stored;
    struct block_chain chain; /* of the last block of samples */
};

/* Takes the descriptor of a file, which block_reader_close closes, also after a failure.  Checks the
 * preamble and leaves `at` behind it. */
MUST_CHECK enum err_code block_reader_open(struct block_reader *blocks, int fd,
                                           struct err *err);
void block_reader_close(struct block_reader *blocks);

/* Unpacks the next block into raw and moves `at`.  ERR_NOT_FOUND: no whole block is left.  Skips
 * blocks that are not wanted, and those of an unknown kind that may be skipped. */
MUST_CHECK enum err_code block_reader_next(struct block_reader *blocks, struct block_head *head,
                                           struct buffer *raw, struct err *err);

/* The offset of the last block, from the trailer; 0: there is no trailer. */
uint64_t block_reader_end_at(const struct block_reader *blocks);

#endif /* SAMPLER_CAPTURE_BLOCK_READER_H */
