#include "sampler/foreign/gecko_tables.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/foreign/json_reader.h"
#include "sampler/foreign/location.h"
#include "sampler/profile/profile.h"

enum { NONE = GECKO_NONE };

static const struct {
    const char *table, *key;
} columns[] = {
#define X(name, table, key) { table, key },
    GECKO_COLUMNS(X)
#undef X
};

static void deinit_set(struct gecko_table_set *set)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        free(set->columns[i].values);
    free(set->strings);
    free(set->nodes);
}

void gecko_tables_deinit(struct gecko_tables *tables)
{
    deinit_set(&tables->shared);
    deinit_set(&tables->own);
    *tables = (struct gecko_tables){ .gather = NULL };
}

void gecko_tables_begin_thread(struct gecko_tables *tables)
{
    struct gecko_table_set *const own = &tables->own;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        own->columns[i].count = 0;
    own->string_count = own->node_count = 0;
}

const struct gecko_table_set *gecko_tables_stacks(const struct gecko_tables *tables)
{
    return tables->own.columns[STACK_FRAME].count > 0 ? &tables->own : &tables->shared;
}

void gecko_schema_read(struct json_reader *json, const char *const *keys, size_t count,
                       struct gecko_schema *schema)
{
    memset(schema->items, NONE, sizeof schema->items);
    schema->is_known = true;
    if (!json_reader_enter(json, JSON_OBJECT))
        return;
    while (json_reader_key(json)) {
        size_t column = 0;
        while (column < count && (!keys[column] || !json_reader_is(json, keys[column])))
            column++;
        const int64_t item = json_reader_int(json);
        if (column < count && item >= 0 && item < GECKO_ROW_ITEMS)
            schema->items[item] = (int8_t)column;
    }
}

/* Makes room for a row, within what tables may need. */
static enum err_code reserve_row(struct gecko_tables *tables, void *items, size_t *room,
                                 size_t count, size_t item_bytes, struct err *err)
{
    const size_t before = *room;
    if (!vec_reserve(items, room, count + 1, item_bytes))
        return err_nomem(err);
    tables->bytes += (*room - before) * item_bytes;
    return tables->gather->table_bytes && tables->bytes > tables->gather->table_bytes
               ? err_set(err, ERR_LIMIT,
                         "its tables need more than %zu MiB: use a larger --memory",
                         tables->gather->table_bytes >> 20)
               : ERR_OK;
}

/* Takes a number of a table, whose token was taken; NONE: null. */
static bool take_cell(struct json_reader *json, int32_t *out)
{
    int64_t value = NONE;
    if (json->token != JSON_NULL &&
        (!json_reader_scaled(json, 0, &value) || value < NONE || value > INT32_MAX)) {
        json_reader_fail(json, "a number of a table is out of range");
        return false;
    }
    *out = (int32_t)value;
    return true;
}

static enum err_code put_cell(struct gecko_tables *tables, struct gecko_column_values *column,
                              int32_t value, struct err *err)
{
    const enum err_code rc = reserve_row(tables, &column->values, &column->room, column->count,
                                         sizeof *column->values, err);
    if (!rc)
        column->values[column->count++] = value;
    return rc;
}

static enum err_code read_column(struct gecko_tables *tables,
                                 struct gecko_column_values *column, struct err *err)
{
    struct json_reader *const json = tables->json;
    int32_t value = NONE;
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) != JSON_ARRAY) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_item(json) && take_cell(json, &value))
        rc = put_cell(tables, column, value, err);
    return rc;
}

/* Reads the rows of a raw table into its columns; items that a row lacks are null. */
static enum err_code read_rows(struct gecko_tables *tables, struct gecko_table_set *set,
                               const char *const *keys, const struct gecko_schema *schema,
                               struct err *err)
{
    struct json_reader *const json = tables->json;
    enum err_code rc = ERR_OK;
    if (!schema->is_known)
        json_reader_fail(json, "a table has no schema before its rows");
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        int32_t row[COLUMN_COUNT];
        memset(row, NONE, sizeof row);
        if (json->token != JSON_ARRAY) {
            json_reader_fail(json, "a row of a table is no list");
            break;
        }
        for (size_t i = 0; json_reader_item(json); i++) {
            if (i >= GECKO_ROW_ITEMS || schema->items[i] == NONE)
                json_reader_skip_rest(json);
            else if (!take_cell(json, &row[schema->items[i]]))
                break;
        }
        for (size_t i = 0; i < COLUMN_COUNT && !rc && !json->input.code; i++)
            if (keys[i])
                rc = put_cell(tables, &set->columns[i], row[i], err);
    }
    return rc;
}

static enum err_code read_strings(struct gecko_tables *tables, struct gecko_table_set *set,
                                  struct err *err)
{
    struct json_reader *const json = tables->json;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        const struct gather_text text = json_reader_text(json);
        if (json->token != JSON_STRING) {
            json_reader_fail(json, "a string is none");
            break;
        }
        rc = reserve_row(tables, &set->strings, &set->string_room, set->string_count,
                         sizeof *set->strings, err);
        if (!rc)
            rc = strtab_intern(profile_strings(tables->gather->profile), text.text, text.bytes,
                               &set->strings[set->string_count++], err);
    }
    return rc;
}

enum err_code gecko_tables_read(struct gecko_tables *tables, struct gecko_table_set *set,
                                bool *is_table, struct err *err)
{
    struct json_reader *const json = tables->json;
    const char *keys[COLUMN_COUNT] = { NULL };
    struct gecko_schema schema = { .is_known = false };
    const char *table = NULL;
    enum err_code rc = ERR_OK;
    *is_table = true;
    if (json_reader_is(json, "stringArray") || json_reader_is(json, "stringTable"))
        return read_strings(tables, set, err);
    for (size_t i = 0; i < COLUMN_COUNT && !table; i++)
        table = json_reader_is(json, columns[i].table) ? columns[i].table : NULL;
    *is_table = table != NULL;
    if (!table || !json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        keys[i] = strcmp(columns[i].table, table) == 0 ? columns[i].key : NULL;
    while (!rc && json_reader_key(json)) {
        size_t column = 0;
        while (column < COLUMN_COUNT && (!keys[column] || !json_reader_is(json, keys[column])))
            column++;
        if (column < COLUMN_COUNT)
            rc = read_column(tables, &set->columns[column], err);
        else if (json_reader_is(json, "schema"))
            gecko_schema_read(json, keys, COLUMN_COUNT, &schema);
        else if (json_reader_is(json, "data"))
            rc = read_rows(tables, set, keys, &schema, err);
        else
            json_reader_skip(json);
    }
    return rc;
}

/* A value of a table of the thread, or of that of all threads; NONE: it has none. */
static int32_t value_at(const struct gecko_tables *tables, enum gecko_column which, int32_t row)
{
    const struct gecko_column_values *column = &tables->own.columns[which];
    if (column->count == 0)
        column = &tables->shared.columns[which];
    return row >= 0 && (size_t)row < column->count ? column->values[row] : NONE;
}

static struct gather_text string_at(const struct gecko_tables *tables, int32_t index)
{
    const struct profile_snapshot rows = { .profile = tables->gather->profile };
    const struct gecko_table_set *const set =
        tables->own.string_count > 0 ? &tables->own : &tables->shared;
    if (index < 0 || (size_t)index >= set->string_count)
        return (struct gather_text){ "", 0 };
    const struct strtab_string string = profile_string(&rows, set->strings[index]);
    return (struct gather_text){ string.text, string.length };
}

/* The parts of a location of a raw profile.  Behind it may stand the number of a source, "work (https://a/b.js:12:3)[7]"; a script's own code has no
 * function, "https://a/b.js:12"; and any other text is a name. */
static void split_location(struct gather_text location, struct gather_text *name,
                           struct gather_text *file, int64_t *line)
{
    int64_t number = 0;
    const bool has_bracket = location.bytes > 0 && location.text[location.bytes - 1] == ']';
    location.bytes -= has_bracket;
    const bool has_source = has_bracket && location_cut_number(&location, '[', &number);
    location.bytes += has_bracket && !has_source;
    *name = location;
    if (location_split(location, name, file, line))
        return;
    const bool has_number = location_cut_number(&location, ':', &number);
    if (has_number && !location_cut_number(&location, ':', line))
        *line = number;
    if (has_number || has_source) {
        *name = (struct gather_text){ "(root scope)", sizeof "(root scope)" - 1 };
        *file = location;
    }
}

/* Parents stand before children. */
enum err_code gecko_tables_find_nodes(struct gecko_tables *tables, struct gecko_table_set *set,
                                      struct err *err)
{
    const size_t count = set->columns[STACK_FRAME].count;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc; i++) {
        const int32_t frame = value_at(tables, STACK_FRAME, (int32_t)i);
        const int32_t prefix = value_at(tables, STACK_PREFIX, (int32_t)i);
        const int32_t location = value_at(tables, FRAME_LOCATION, frame);
        const int32_t function = value_at(tables, FRAME_FUNC, frame);
        const int32_t source = value_at(tables, FUNC_SOURCE, function);
        int64_t first_line = value_at(tables, FUNC_LINE, function);
        struct gather_text name = string_at(tables, value_at(tables, FUNC_NAME, function));
        struct gather_text file =
            string_at(tables, source >= 0 ? value_at(tables, SOURCE_FILE, source)
                                          : value_at(tables, FUNC_FILE, function));
        /* Functions without a file are of a library, and their names may be addresses within it. */
        if (file.bytes == 0)
            file = string_at(tables, value_at(tables, RESOURCE_NAME,
                                              value_at(tables, FUNC_RESOURCE, function)));
        if (location != NONE)
            split_location(string_at(tables, location), &name, &file, &first_line);
        frame_id id = 0;
        if (prefix >= 0 && (size_t)prefix >= i)
            return err_set(err, ERR_CORRUPT, "stack %zu is below a later one", i);
        if (function == NONE && location == NONE)
            return err_set(err, ERR_CORRUPT, "stack %zu has no function", i);
        if (name.bytes == 0)
            name = (struct gather_text){ "?", 1 };
        if (file.bytes == 0 && *name.text == '<')
            file = (struct gather_text){ "~", 1 };
        rc = gather_frame(tables->gather, name, file, first_line,
                          value_at(tables, FRAME_LINE, frame), &id, err);
        if (!rc)
            rc = reserve_row(tables, &set->nodes, &set->node_room, set->node_count,
                             sizeof *set->nodes, err);
        if (!rc)
            rc = gather_child(tables->gather, prefix >= 0 ? set->nodes[prefix] : 0, id,
                              &set->nodes[set->node_count++], err);
    }
    return rc;
}
