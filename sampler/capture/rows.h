/*
 * rows - the tables of a profile in a capture: new rows, slice by slice.
 *
 * A block of rows is a sequence of slices: the table, the id of the first row, the number of rows, and
 * their columns.  A row refers only to rows before it, so a reader that reads in order has them.
 *
 * Limits: ROWS_MAX_SLICE rows in a slice; a block is full at about ROWS_BLOCK_BYTES.
 * Threads: any, as encoding reads only rows below the snapshot's sizes.
 */
#ifndef SAMPLER_CAPTURE_ROWS_H
#define SAMPLER_CAPTURE_ROWS_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct byte_reader;

enum { ROWS_MAX_SLICE = 1 << 12, ROWS_BLOCK_BYTES = 1 << 20 };

/* The rows that every profile has from the start; they are not written. */
struct profile_sizes rows_at_start(void);

/* Appends slices from *done on until the block is full, and moves *done.  false: no row was left. */
bool rows_encode(const struct profile_snapshot *snapshot, struct profile_sizes *done,
                 struct buffer *out);

/* Interns the rows of a block.  Rows below *done are known already; moves *done behind the others.
 * ERR_CORRUPT: the rows do not fit the profile. */
MUST_CHECK enum err_code rows_decode(struct profile *profile, struct byte_reader *in,
                                     struct profile_sizes *done, struct err *err);

#endif /* SAMPLER_CAPTURE_ROWS_H */
