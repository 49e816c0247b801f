/*
 * rows - the tables of a profile in a capture: what is new in them, a slice after the other.
 *
 * A block of rows is a sequence of slices: the table, the id of its first row, how many rows, and
 * their columns.  What a row refers to comes before it, so who reads in order knows it already.
 *
 * Limits: ROWS_MAX_SLICE rows in a slice; a block is full at about ROWS_BLOCK_BYTES.
 * Threads: encoding reads rows below the snapshot's sizes only, so any.
 * Depends on: profile, bytes.
 */
#ifndef SAMPLER_CAPTURE_ROWS_H
#define SAMPLER_CAPTURE_ROWS_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct bytes;
struct cursor;

enum { ROWS_MAX_SLICE = 1 << 12, ROWS_BLOCK_BYTES = 1 << 20 };

/* The rows that every profile has from the start: they are not written. */
struct profile_sizes rows_at_start(void);

/* Appends slices from *done on and moves it, until the block is full.  false: nothing was left. */
bool rows_encode(const struct profile_snapshot *snapshot, struct profile_sizes *done,
                 struct bytes *out);

/* Interns the rows of a block.  Rows below *done are known already, *done moves behind the rest.
 * ERR_CORRUPT: they do not fit the profile. */
MUST_CHECK enum err_code rows_decode(struct profile *profile, struct cursor *cursor,
                                     struct profile_sizes *done, struct err *err);

#endif /* SAMPLER_CAPTURE_ROWS_H */
