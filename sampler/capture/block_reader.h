/*
 * source - the bytes of a capture: a file, block by block, and where it ends too early.
 *
 * Ownership: the caller's storage; source_close accepts one that was zeroed and has fd -1.
 * Threads: one at a time.
 * Depends on: block, bytes, format.
 */
#ifndef SAMPLER_CAPTURE_BLOCK_READER_H
#define SAMPLER_CAPTURE_BLOCK_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/capture/block.h"
#include "sampler/capture/bytes.h"

/* Of which samples: those of blocks from one byte to before another, and those from a third on. */
struct source_wanted {
    bool is_part;            /* false: of all */
    uint64_t from, to, also; /* from 0: the first; to UINT64_MAX: none is too late */
    bool met_from, met_to, met_also;
};

struct capture_source {
    int fd;
    uint64_t size; /* when it was opened */
    uint64_t at;   /* of the next block */
    struct source_wanted wanted;
    struct bytes stored;
    struct block_chain chain; /* of the last block of samples */
};

/* Leaves `at` behind the preamble, which says that we can read it. */
MUST_CHECK enum err_code source_open_capture(struct capture_source *source, const char *path,
                                             struct err *err);
void source_close_capture(struct capture_source *source);

/* The next block, unpacked into raw, and `at` moves on.  ERR_NOT_FOUND: there is no whole one any
 * more.  A block whose kind we may skip is skipped. */
MUST_CHECK enum err_code source_next(struct capture_source *source, struct block_head *head,
                                     struct bytes *raw, struct err *err);

/* Where the last block is, by the last bytes of the file; 0: they do not say. */
uint64_t source_end_at(const struct capture_source *source);

#endif /* SAMPLER_CAPTURE_BLOCK_READER_H */
