/*
 * row_tables - the tables of a profile in a capture: how the rows of each are counted, written and read.
 *
 * A part of rows: it decides which rows are next, and whether those that come are known already.
 *
 * Limits: ROWS_MAX_SLICE rows in a slice.
 */
#ifndef SAMPLER_CAPTURE_ROW_TABLES_H
#define SAMPLER_CAPTURE_ROW_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct byte_reader;

/* A slice of one table, being written or read. */
struct row_slice {
    uint32_t first, count;
};

struct row_table {
    size_t size_offset; /* in struct profile_sizes */
    size_t row_bytes;   /* the least bytes of a row */
    void (*encode)(const struct profile_snapshot *snapshot, struct row_slice slice,
                   struct buffer *out);
    enum err_code (*decode)(struct profile *profile, struct row_slice slice, bool is_known,
                            struct byte_reader *in, struct err *err);
};

enum { ROW_TABLE_STRINGS = 0 };

/* The index is the number of a table in the file.  A table without `encode` is only read. */
extern const struct row_table row_tables[];
extern const size_t row_table_count;

#endif /* SAMPLER_CAPTURE_ROW_TABLES_H */
