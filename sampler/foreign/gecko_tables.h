/*
 * gecko_tables - the tables of a profile of the Firefox Profiler: strings, functions, frames and stacks, of columns, or of rows with a schema;
 * those that all threads share, and those of the thread that is read.
 *
 *     gecko_tables_read          a table, as its key comes
 *     gecko_tables_find_nodes    once all of a set were read
 *
 * Ownership: the caller's storage; gecko_tables_deinit accepts a zeroed one.
 * Threads: one.
 * Limits: the memory that tables of the gather may need, then ERR_LIMIT; GECKO_ROW_ITEMS items of a row are read.
 */
#ifndef SAMPLER_FOREIGN_GECKO_TABLES_H
#define SAMPLER_FOREIGN_GECKO_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"

struct json_reader;

enum { GECKO_NONE = -1, GECKO_ROW_ITEMS = 64 };

/* Columns of tables that stacks are made of. */
#define GECKO_COLUMNS(X)                        \
    X(STACK_FRAME, "stackTable", "frame")       \
    X(STACK_PREFIX, "stackTable", "prefix")     \
    X(FRAME_FUNC, "frameTable", "func")         \
    X(FRAME_LOCATION, "frameTable", "location") \
    X(FRAME_LINE, "frameTable", "line")         \
    X(FUNC_NAME, "funcTable", "name")           \
    X(FUNC_FILE, "funcTable", "fileName")       \
    X(FUNC_SOURCE, "funcTable", "source")       \
    X(FUNC_RESOURCE, "funcTable", "resource")   \
    X(FUNC_LINE, "funcTable", "lineNumber")     \
    X(RESOURCE_NAME, "resourceTable", "name")   \
    X(SOURCE_FILE, "sources", "filename")

enum gecko_column {
#define X(name, table, key) name,
    GECKO_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

/* The tables of all threads, or of one. */
struct gecko_table_set {
    struct gecko_column_values {
        int32_t *values; /* GECKO_NONE: null */
        size_t count, room;
    } columns[COLUMN_COUNT];
    str_id *strings;
    size_t string_count, string_room;
    node_id *nodes; /* of stacks */
    size_t node_count, node_room;
};

struct gecko_tables {
    struct gather *gather;
    struct json_reader *json;
    struct gecko_table_set shared, own;
    size_t bytes; /* of both */
};

/* The column of each item of a row; GECKO_NONE: it is passed over. */
struct gecko_schema {
    int8_t items[GECKO_ROW_ITEMS];
    bool is_known;
};

/* Reads the value of "schema": a column is the number of its key among those, of which some may be NULL. */
void gecko_schema_read(struct json_reader *json, const char *const *keys, size_t count,
                       struct gecko_schema *schema);

void gecko_tables_deinit(struct gecko_tables *tables);
/* Forgets the tables of the thread before. */
void gecko_tables_begin_thread(struct gecko_tables *tables);
/* Reads the value of the last key, if it is a table; *is_table: it was. */
MUST_CHECK enum err_code gecko_tables_read(struct gecko_tables *tables,
                                           struct gecko_table_set *set, bool *is_table,
                                           struct err *err);
/* Finds the node of each stack of a set. */
MUST_CHECK enum err_code gecko_tables_find_nodes(struct gecko_tables *tables,
                                                 struct gecko_table_set *set, struct err *err);
/* The set that has the stacks of the thread's samples. */
const struct gecko_table_set *gecko_tables_stacks(const struct gecko_tables *tables);

#endif /* SAMPLER_FOREIGN_GECKO_TABLES_H */
