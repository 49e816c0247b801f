#include "sampler/capture/rows.h"

#include <stddef.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"

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

typedef const struct profile_snapshot *snapshot_ref;

/* The id must be the next one: otherwise the row was there before. */
static enum err_code check_place(enum err_code rc, uint32_t id, uint32_t expected,
                                 const char *what, struct err *err)
{
    if (rc == ERR_INVALID)
        return err_set(err, ERR_CORRUPT, "%s %u of the capture refers to nothing", what,
                       expected);
    return !rc && id != expected
               ? err_set(err, ERR_CORRUPT, "%s %u of the capture is there twice", what,
                         expected)
               : rc;
}

static void encode_strings(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    for (uint32_t i = 0; i < slice.count; i++)
        buffer_number(out, profile_string(snapshot, slice.first + i).length);
    for (uint32_t i = 0; i < slice.count; i++) {
        const struct strtab_string string = profile_string(snapshot, slice.first + i);
        buffer_append(out, string.text, string.length);
    }
}

static enum err_code decode_strings(struct profile *profile, struct row_slice slice,
                                    bool is_known, struct byte_reader *in, struct err *err)
{
    uint32_t lengths[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    for (uint32_t i = 0; i < slice.count; i++)
        lengths[i] = (uint32_t)byte_reader_below(in, STRTAB_MAX_LENGTH);
    for (uint32_t i = 0; i < slice.count && !rc; i++) {
        const unsigned char *const text = byte_reader_take(in, lengths[i]);
        str_id id = 0;
        if (!text)
            break;
        if (is_known)
            continue;
        rc = strtab_intern(profile_strings(profile), (const char *)text, lengths[i], &id, err);
        rc = check_place(rc, id, slice.first + i, "string", err);
    }
    return rc;
}

/* Numbers of neighbours are alike: a column is stored as differences. */
#define ENCODE_COLUMN(row_at, member)                                       \
    do {                                                                    \
        int64_t last = 0;                                                   \
        for (uint32_t i = 0; i < slice.count; i++) {                        \
            const int64_t value = row_at(snapshot, slice.first + i).member; \
            buffer_signed(out, value - last);                               \
            last = value;                                                   \
        }                                                                   \
    } while (0)

static void take_column(struct byte_reader *in, uint32_t count, int64_t *column)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < count; i++) {
        last += (uint64_t)byte_reader_signed(in);
        column[i] = (int64_t)last;
    }
}

/* A number that is not an id becomes one that no table has. */
static uint32_t id_of(int64_t value)
{
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : UINT32_MAX - 1;
}

static int32_t int_of(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : 0;
}

static void encode_libraries(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_library_at, path);
    ENCODE_COLUMN(profile_library_at, build_id);
    ENCODE_COLUMN(profile_library_at, flags);
}

/* Flags of a later version are left out. */
static enum err_code decode_libraries(struct profile *profile, struct row_slice slice,
                                      bool is_known, struct byte_reader *in, struct err *err)
{
    int64_t path[ROWS_MAX_SLICE], build_id[ROWS_MAX_SLICE], flags[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    take_column(in, slice.count, path);
    take_column(in, slice.count, build_id);
    take_column(in, slice.count, flags);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        const struct profile_library row = { .path = id_of(path[i]),
                                             .build_id = id_of(build_id[i]),
                                             .flags =
                                                 (uint32_t)flags[i] & PROFILE_LIBRARY_FLAGS };
        library_id id = 0;
        rc = profile_library(profile, &row, &id, err);
        rc = check_place(rc, id, slice.first + i, "library", err);
    }
    return rc;
}

static void encode_functions(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_function_at, name);
    ENCODE_COLUMN(profile_function_at, file);
    ENCODE_COLUMN(profile_function_at, first_line);
    ENCODE_COLUMN(profile_function_at, library);
}

enum { NAME, FILE_NAME, FIRST_LINE, LIBRARY, FUNCTION_COLUMNS };

/* Columns that the file lacks are 0. */
static enum err_code take_functions(struct profile *profile, struct row_slice slice,
                                    bool is_known, size_t columns, struct byte_reader *in,
                                    struct err *err)
{
    int64_t column[FUNCTION_COLUMNS][ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    memset(column, 0, sizeof column);
    for (size_t i = 0; i < columns; i++)
        take_column(in, slice.count, column[i]);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        const struct profile_function row = { .name = id_of(column[NAME][i]),
                                              .file = id_of(column[FILE_NAME][i]),
                                              .first_line = int_of(column[FIRST_LINE][i]),
                                              .library = id_of(column[LIBRARY][i]) };
        function_id id = 0;
        rc = profile_function_row(profile, &row, &id, err);
        rc = check_place(rc, id, slice.first + i, "function", err);
    }
    return rc;
}

static enum err_code decode_functions(struct profile *profile, struct row_slice slice,
                                      bool is_known, struct byte_reader *in, struct err *err)
{
    return take_functions(profile, slice, is_known, FUNCTION_COLUMNS, in, err);
}

/* Rows before version 4. */
static enum err_code decode_python_functions(struct profile *profile, struct row_slice slice,
                                             bool is_known, struct byte_reader *in,
                                             struct err *err)
{
    return take_functions(profile, slice, is_known, LIBRARY, in, err);
}

static void encode_frames(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_frame_at, function);
    ENCODE_COLUMN(profile_frame_at, line);
}

static enum err_code decode_frames(struct profile *profile, struct row_slice slice,
                                   bool is_known, struct byte_reader *in, struct err *err)
{
    int64_t function[ROWS_MAX_SLICE], line[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    take_column(in, slice.count, function);
    take_column(in, slice.count, line);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        frame_id id = 0;
        rc = profile_frame(profile, id_of(function[i]), int_of(line[i]), &id, err);
        rc = check_place(rc, id, slice.first + i, "frame", err);
    }
    return rc;
}

static void encode_nodes(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_node_at, parent);
    ENCODE_COLUMN(profile_node_at, frame);
}

static enum err_code decode_nodes(struct profile *profile, struct row_slice slice,
                                  bool is_known, struct byte_reader *in, struct err *err)
{
    int64_t parent[ROWS_MAX_SLICE], frame[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    take_column(in, slice.count, parent);
    take_column(in, slice.count, frame);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        node_id id = 0;
        rc = profile_node(profile, id_of(parent[i]), id_of(frame[i]), &id, err);
        rc = check_place(rc, id, slice.first + i, "node", err);
    }
    return rc;
}

static void encode_processes(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_process_at, pid);
    ENCODE_COLUMN(profile_process_at, name);
}

static enum err_code decode_processes(struct profile *profile, struct row_slice slice,
                                      bool is_known, struct byte_reader *in, struct err *err)
{
    int64_t pid[ROWS_MAX_SLICE], name[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    take_column(in, slice.count, pid);
    take_column(in, slice.count, name);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        process_id id = 0;
        rc = profile_process(profile, int_of(pid[i]), id_of(name[i]), &id, err);
        rc = check_place(rc, id, slice.first + i, "process", err);
    }
    return rc;
}

static void encode_threads(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_thread_at, process);
    ENCODE_COLUMN(profile_thread_at, tid);
    ENCODE_COLUMN(profile_thread_at, name);
    ENCODE_COLUMN(profile_thread_at, is_main);
    for (uint32_t i = 0; i < slice.count; i++)
        buffer_number(out, profile_thread_at(snapshot, slice.first + i).ident);
}

static enum err_code decode_threads(struct profile *profile, struct row_slice slice,
                                    bool is_known, struct byte_reader *in, struct err *err)
{
    int64_t process[ROWS_MAX_SLICE], tid[ROWS_MAX_SLICE], name[ROWS_MAX_SLICE];
    int64_t is_main[ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    take_column(in, slice.count, process);
    take_column(in, slice.count, tid);
    take_column(in, slice.count, name);
    take_column(in, slice.count, is_main);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad; i++) {
        const struct profile_thread row = { .process = id_of(process[i]),
                                            .tid = int_of(tid[i]),
                                            .ident = byte_reader_number(in),
                                            .name = id_of(name[i]),
                                            .is_main = is_main[i] != 0 };
        thread_id id = 0;
        if (is_known || in->is_bad)
            continue;
        rc = profile_thread(profile, &row, &id, err);
        rc = check_place(rc, id, slice.first + i, "thread", err);
    }
    return rc;
}

static void encode_spots(snapshot_ref snapshot, struct row_slice slice, struct buffer *out)
{
    ENCODE_COLUMN(profile_spot_at, function);
    ENCODE_COLUMN(profile_spot_at, line);
    ENCODE_COLUMN(profile_spot_at, end_line);
    ENCODE_COLUMN(profile_spot_at, column);
    ENCODE_COLUMN(profile_spot_at, end_column);
    ENCODE_COLUMN(profile_spot_at, opcode);
    ENCODE_COLUMN(profile_spot_at, base);
    ENCODE_COLUMN(profile_spot_at, caller);
}

enum { FUNCTION, LINE, END_LINE, COLUMN, END_COLUMN, OPCODE, BASE, CALLER, SPOT_COLUMNS };

/* Columns that the file lacks are 0. */
static enum err_code take_spots(struct profile *profile, struct row_slice slice, bool is_known,
                                size_t columns, struct byte_reader *in, struct err *err)
{
    int64_t column[SPOT_COLUMNS][ROWS_MAX_SLICE];
    enum err_code rc = ERR_OK;
    memset(column, 0, sizeof column);
    for (size_t i = 0; i < columns; i++)
        take_column(in, slice.count, column[i]);
    for (uint32_t i = 0; i < slice.count && !rc && !in->is_bad && !is_known; i++) {
        const struct profile_spot row = { .function = id_of(column[FUNCTION][i]),
                                          .line = int_of(column[LINE][i]),
                                          .end_line = int_of(column[END_LINE][i]),
                                          .column = int_of(column[COLUMN][i]),
                                          .end_column = int_of(column[END_COLUMN][i]),
                                          .opcode = id_of(column[OPCODE][i]),
                                          .base = id_of(column[BASE][i]),
                                          .caller = id_of(column[CALLER][i]) };
        spot_id id = 0;
        rc = profile_spot(profile, &row, &id, err);
        rc = check_place(rc, id, slice.first + i, "spot", err);
    }
    return rc;
}

static enum err_code decode_spots(struct profile *profile, struct row_slice slice,
                                  bool is_known, struct byte_reader *in, struct err *err)
{
    return take_spots(profile, slice, is_known, SPOT_COLUMNS, in, err);
}

/* Rows of version 1. */
static enum err_code decode_lone_spots(struct profile *profile, struct row_slice slice,
                                       bool is_known, struct byte_reader *in, struct err *err)
{
    return take_spots(profile, slice, is_known, CALLER, in, err);
}

static const struct row_table row_tables[] = {
    { offsetof(struct profile_sizes, strings), 1, encode_strings, decode_strings },
    { offsetof(struct profile_sizes, functions), LIBRARY, NULL, decode_python_functions },
    { offsetof(struct profile_sizes, frames), 2, encode_frames, decode_frames },
    { offsetof(struct profile_sizes, nodes), 2, encode_nodes, decode_nodes },
    { offsetof(struct profile_sizes, processes), 2, encode_processes, decode_processes },
    { offsetof(struct profile_sizes, threads), 5, encode_threads, decode_threads },
    { offsetof(struct profile_sizes, spots), CALLER, NULL, decode_lone_spots },
    { offsetof(struct profile_sizes, spots), SPOT_COLUMNS, encode_spots, decode_spots },
    { offsetof(struct profile_sizes, libraries), 3, encode_libraries, decode_libraries },
    { offsetof(struct profile_sizes, functions), FUNCTION_COLUMNS, encode_functions,
      decode_functions },
};

enum { ROW_TABLES = sizeof row_tables / sizeof *row_tables };

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

static struct row_slice next_slice(const struct profile_snapshot *snapshot,
                                   const struct row_table *table, uint32_t done)
{
    const uint32_t left = size_of(&snapshot->sizes, table) - done;
    struct row_slice slice = { done, left < ROWS_MAX_SLICE ? left : ROWS_MAX_SLICE };
    if (table->encode == encode_strings) {
        size_t bytes = 0;
        for (uint32_t i = 0; i < slice.count; i++) {
            bytes += profile_string(snapshot, slice.first + i).length;
            if (bytes > ROWS_BLOCK_BYTES) {
                slice.count = i + 1;
                break;
            }
        }
    }
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
    if (table >= ROW_TABLES)
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
