#include "sampler/capture/rows.h"

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/capture/row_tables.h"

struct profile_sizes rows_at_start(void)
{
    return (struct profile_sizes){
        .strings = 1, .libraries = 1, .functions = 1, .frames = 1, .nodes = 1
    };
}

/* The order in which tables are written: rows refer to tables before their own. */
static const unsigned char order[] = { 0, 8, 9, 2, 3, 4, 5, 7 };

static uint32_t *size_at(struct profile_sizes *sizes, const struct row_table *table)
{
    return (uint32_t *)(void *)((char *)sizes + table->size_offset);
}

static uint32_t size_of(const struct profile_sizes *sizes, const struct row_table *table)
{
    return *(const uint32_t *)(const void *)((const char *)sizes + table->size_offset);
}

/* A few rows with long texts fill a block. */
static uint32_t fitting_strings(const struct profile_snapshot *snapshot, struct row_slice slice)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < slice.count; i++) {
        bytes += profile_string(snapshot, slice.first + i).length;
        if (bytes > ROWS_BLOCK_BYTES)
            return i + 1;
    }
    return slice.count;
}

static struct row_slice next_slice(const struct profile_snapshot *snapshot,
                                   const struct row_table *table, uint32_t done)
{
    const uint32_t left = size_of(&snapshot->sizes, table) - done;
    struct row_slice slice = { done, left < ROWS_MAX_SLICE ? left : ROWS_MAX_SLICE };
    if (table == &row_tables[ROW_TABLE_STRINGS])
        slice.count = fitting_strings(snapshot, slice);
    return slice;
}

bool rows_encode(const struct profile_snapshot *snapshot, struct profile_sizes *done,
                 struct buffer *out)
{
    const size_t before = out->length;
    for (size_t i = 0; i < sizeof order; i++) {
        const struct row_table *const table = &row_tables[order[i]];
        uint32_t *const at = size_at(done, table);
        while (*at < size_of(&snapshot->sizes, table)) {
            if (out->length - before > ROWS_BLOCK_BYTES || out->failed)
                return true;
            const struct row_slice slice = next_slice(snapshot, table, *at);
            buffer_u8(out, order[i]);
            buffer_number(out, slice.first);
            buffer_number(out, slice.count);
            table->encode(snapshot, slice, out);
            *at += slice.count;
        }
    }
    return out->length > before;
}

static enum err_code decode_slice(struct profile *profile, struct byte_reader *in,
                                  struct profile_sizes *done, struct err *err)
{
    const unsigned table = byte_reader_u8(in);
    if (table >= row_table_count)
        return err_set(err, ERR_CORRUPT, "the capture has a table of an unknown kind");
    uint32_t *const at = size_at(done, &row_tables[table]);
    const uint32_t first = (uint32_t)byte_reader_below(in, *at);
    const struct row_slice slice = {
        first, (uint32_t)byte_reader_count(in, row_tables[table].row_bytes, ROWS_MAX_SLICE)
    };
    const bool is_known = first < *at;
    /* Either all of the slice is known or none of it.  An empty one could repeat without end. */
    if (slice.count == 0 || (is_known && slice.count > *at - first))
        in->is_bad = true;
    if (in->is_bad)
        return ERR_OK;
    const enum err_code rc = row_tables[table].decode(profile, slice, is_known, in, err);
    if (!rc && !is_known)
        *at += slice.count;
    return rc;
}

enum err_code rows_decode(struct profile *profile, struct byte_reader *in,
                          struct profile_sizes *done, struct err *err)
{
    enum err_code rc = ERR_OK;
    while (!rc && !in->is_bad && byte_reader_left(in) > 0)
        rc = decode_slice(profile, in, done, err);
    if (!rc && in->is_bad)
        rc = err_set(err, ERR_CORRUPT, "a block of rows is invalid");
    return rc;
}
