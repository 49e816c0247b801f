/*
 * The processed profiles of the Firefox Profiler: tables of stacks, frames, functions and strings, each of columns, which a thread has itself or
 * shares with all others; and for each thread its samples, as columns too.
 *
 * Any member may come first, so the file is read for what is shared, then for threads; the columns of samples are read beside one another.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/json_reader.h"
#include "sampler/profile/profile.h"

/* Columns of tables that stacks are made of. */
#define GECKO_COLUMNS(X)                    \
    X(STACK_FRAME, "stackTable", "frame")   \
    X(STACK_PREFIX, "stackTable", "prefix") \
    X(FRAME_FUNC, "frameTable", "func")     \
    X(FRAME_LINE, "frameTable", "line")     \
    X(FUNC_NAME, "funcTable", "name")       \
    X(FUNC_FILE, "funcTable", "fileName")   \
    X(FUNC_SOURCE, "funcTable", "source")   \
    X(FUNC_LINE, "funcTable", "lineNumber") \
    X(SOURCE_FILE, "sources", "filename")

enum gecko_column {
#define X(name, table, key) name,
    GECKO_COLUMNS(X)
#undef X
        COLUMN_COUNT
};

static const struct {
    const char *table, *key;
} columns[] = {
#define X(name, table, key) { table, key },
    GECKO_COLUMNS(X)
#undef X
};

enum { NONE = -1, MS_SHIFT = 6, TEXT_BYTES = 160 };
/* Milliseconds since 1970 in 2001: what is less is no time of day. */
#define LEAST_START_MS INT64_C(1000000000000)

struct column {
    int32_t *values; /* NONE: null */
    size_t count, room;
};

struct tables {
    struct column columns[COLUMN_COUNT];
    str_id *strings;
    size_t string_count, string_room;
    node_id *nodes; /* of stacks */
    size_t node_count, node_room;
};

/* Columns of samples that are read beside one another. */
enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_COLUMN_COUNT };

struct gecko_thread {
    uint64_t at[SAMPLE_COLUMN_COUNT]; /* offsets; 0: there is none */
    bool has_deltas;                  /* times are those since the sample before */
    char name[TEXT_BYTES], process[TEXT_BYTES], weight_type[TEXT_BYTES];
    int64_t pid, tid;
};

struct gecko {
    struct gather *gather;
    struct json_reader file, samples[SAMPLE_COLUMN_COUNT];
    struct tables shared, own;
    int64_t interval_ns;
    char counts[TEXT_BYTES]; /* the weight type of all threads that are read */
    size_t thread_count, left_out;
    size_t table_bytes;
};

static void tables_deinit(struct tables *tables)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        free(tables->columns[i].values);
    free(tables->strings);
    free(tables->nodes);
    *tables = (struct tables){ .string_count = 0 };
}

static void tables_clear(struct tables *tables)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        tables->columns[i].count = 0;
    tables->string_count = tables->node_count = 0;
}

/* Makes room for a row, within what tables may need. */
static enum err_code reserve_row(struct gecko *gecko, void *items, size_t *room, size_t count,
                                 size_t item_bytes, struct err *err)
{
    const size_t before = *room;
    if (!vec_reserve(items, room, count + 1, item_bytes))
        return err_nomem(err);
    gecko->table_bytes += (*room - before) * item_bytes;
    return gecko->gather->table_bytes && gecko->table_bytes > gecko->gather->table_bytes
               ? err_set(err, ERR_LIMIT,
                         "its tables need more than %zu MiB: use a larger --memory",
                         gecko->gather->table_bytes >> 20)
               : ERR_OK;
}

static enum err_code read_column(struct gecko *gecko, struct column *column, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (json_reader_next(json) != JSON_ARRAY) {
        json_reader_skip_rest(json);
        return ERR_OK;
    }
    while (!rc && json_reader_item(json)) {
        int64_t value = NONE;
        if (json->token != JSON_NULL &&
            (!json_reader_scaled(json, 0, &value) || value < NONE || value > INT32_MAX)) {
            json_reader_fail(json, "a number of a table is out of range");
            break;
        }
        rc = reserve_row(gecko, &column->values, &column->room, column->count,
                         sizeof *column->values, err);
        if (!rc)
            column->values[column->count++] = (int32_t)value;
    }
    return rc;
}

static enum err_code read_strings(struct gecko *gecko, struct tables *tables, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        const struct gather_text text = json_reader_text(json);
        if (json->token != JSON_STRING) {
            json_reader_fail(json, "a string is none");
            break;
        }
        rc = reserve_row(gecko, &tables->strings, &tables->string_room, tables->string_count,
                         sizeof *tables->strings, err);
        if (!rc)
            rc = strtab_intern(profile_strings(gecko->gather->profile), text.text, text.bytes,
                               &tables->strings[tables->string_count++], err);
    }
    return rc;
}

/* Reads the value of the last key, if it is one of the tables; *is_table: it was. */
static enum err_code read_table(struct gecko *gecko, struct tables *tables, bool *is_table,
                                struct err *err)
{
    struct json_reader *const json = &gecko->file;
    const char *table = NULL;
    enum err_code rc = ERR_OK;
    *is_table = true;
    if (json_reader_is(json, "stringArray") || json_reader_is(json, "stringTable"))
        return read_strings(gecko, tables, err);
    for (size_t i = 0; i < COLUMN_COUNT && !table; i++)
        table = json_reader_is(json, columns[i].table) ? columns[i].table : NULL;
    *is_table = table != NULL;
    if (!table || !json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        size_t i = 0;
        while (i < COLUMN_COUNT &&
               (strcmp(columns[i].table, table) != 0 || !json_reader_is(json, columns[i].key)))
            i++;
        if (i < COLUMN_COUNT)
            rc = read_column(gecko, &tables->columns[i], err);
        else
            json_reader_skip(json);
    }
    return rc;
}

/* A value of a table of the thread, or of that of all threads; NONE: it has none. */
static int32_t value_at(const struct gecko *gecko, enum gecko_column which, int32_t row)
{
    const struct column *column = &gecko->own.columns[which];
    if (column->count == 0)
        column = &gecko->shared.columns[which];
    return row >= 0 && (size_t)row < column->count ? column->values[row] : NONE;
}

static struct gather_text string_at(const struct gecko *gecko, int32_t index)
{
    const struct profile_snapshot rows = { .profile = gecko->gather->profile };
    const struct tables *const tables =
        gecko->own.string_count > 0 ? &gecko->own : &gecko->shared;
    if (index < 0 || (size_t)index >= tables->string_count)
        return (struct gather_text){ "", 0 };
    const struct strtab_string string = profile_string(&rows, tables->strings[index]);
    return (struct gather_text){ string.text, string.length };
}

/* Finds the node of each stack of a table; parents stand before children. */
static enum err_code find_nodes(struct gecko *gecko, struct tables *tables, struct err *err)
{
    const size_t count = tables->columns[STACK_FRAME].count;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < count && !rc; i++) {
        const int32_t frame = value_at(gecko, STACK_FRAME, (int32_t)i);
        const int32_t prefix = value_at(gecko, STACK_PREFIX, (int32_t)i);
        const int32_t function = value_at(gecko, FRAME_FUNC, frame);
        const int32_t source = value_at(gecko, FUNC_SOURCE, function);
        struct gather_text name = string_at(gecko, value_at(gecko, FUNC_NAME, function));
        struct gather_text file =
            string_at(gecko, source >= 0 ? value_at(gecko, SOURCE_FILE, source)
                                         : value_at(gecko, FUNC_FILE, function));
        frame_id id = 0;
        if (prefix >= 0 && (size_t)prefix >= i)
            return err_set(err, ERR_CORRUPT, "stack %zu is below a later one", i);
        if (function == NONE)
            return err_set(err, ERR_CORRUPT, "stack %zu has no function", i);
        if (name.bytes == 0)
            name = (struct gather_text){ "?", 1 };
        if (file.bytes == 0 && *name.text == '<')
            file = (struct gather_text){ "~", 1 };
        rc = gather_frame(gecko->gather, name, file, value_at(gecko, FUNC_LINE, function),
                          value_at(gecko, FRAME_LINE, frame), &id, err);
        if (!rc)
            rc = reserve_row(gecko, &tables->nodes, &tables->node_room, tables->node_count,
                             sizeof *tables->nodes, err);
        if (!rc)
            rc = gather_child(gecko->gather, prefix >= 0 ? tables->nodes[prefix] : 0, id,
                              &tables->nodes[tables->node_count++], err);
    }
    return rc;
}

static void read_meta(struct gecko *gecko)
{
    struct json_reader *const json = &gecko->file;
    struct gather *const gather = gecko->gather;
    if (!json_reader_enter(json, JSON_OBJECT))
        return;
    while (json_reader_key(json)) {
        const bool is_start = json_reader_is(json, "startTime");
        int64_t number = 0;
        if (is_start || json_reader_is(json, "interval")) {
            (void)json_reader_next(json);
            if (!json_reader_scaled(json, MS_SHIFT, &number))
                json_reader_skip_rest(json);
            else if (!is_start && number > 0)
                gecko->interval_ns = number;
            else if (is_start && number >= LEAST_START_MS * 1000000)
                gather->started_at_ns = (uint64_t)number;
        } else if (json_reader_is(json, "importedFrom")) {
            gather_keep(gather->tool, json_reader_string(json));
        } else if (json_reader_is(json, "product")) {
            gather_keep(gather->command, json_reader_string(json));
        } else {
            json_reader_skip(json);
        }
    }
    gather->interval_ns = (uint64_t)gecko->interval_ns;
}

static enum err_code read_shared(void *context, struct err *err)
{
    struct gecko *const gecko = context;
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        bool is_table = false;
        if (json_reader_is(json, "meta")) {
            read_meta(gecko);
        } else if (json_reader_is(json, "shared")) {
            if (!json_reader_enter(json, JSON_OBJECT))
                break;
            while (!rc && json_reader_key(json)) {
                rc = read_table(gecko, &gecko->shared, &is_table, err);
                if (!is_table)
                    json_reader_skip(json);
            }
        } else {
            json_reader_skip(json);
        }
    }
    return rc ? rc : find_nodes(gecko, &gecko->shared, err);
}

static void find_columns(struct gecko *gecko, struct gecko_thread *thread)
{
    struct json_reader *const json = &gecko->file;
    if (!json_reader_enter(json, JSON_OBJECT))
        return;
    while (json_reader_key(json)) {
        const bool is_deltas = json_reader_is(json, "timeDeltas");
        uint64_t *const at = json_reader_is(json, "stack") ? &thread->at[SAMPLE_STACK]
                             : is_deltas || json_reader_is(json, "time")
                                 ? &thread->at[SAMPLE_TIME]
                             : json_reader_is(json, "weight") ? &thread->at[SAMPLE_WEIGHT]
                                                              : NULL;
        const uint64_t offset = json_reader_offset(json);
        if (json_reader_is(json, "weightType")) {
            gather_copy(thread->weight_type, sizeof thread->weight_type,
                        json_reader_string(json));
            continue;
        }
        if (json_reader_next(json) == JSON_ARRAY && at) {
            *at = offset;
            thread->has_deltas |= is_deltas;
        }
        json_reader_skip_rest(json);
    }
}

/* A number, or the digits with which a text begins. */
static int64_t read_id(struct json_reader *json)
{
    int64_t value = 0;
    if (json_reader_next(json) == JSON_STRING) {
        const struct gather_text text = json_reader_text(json);
        for (size_t i = 0;
             i < text.bytes && text.text[i] >= '0' && text.text[i] <= '9' && value < INT32_MAX;
             i++)
            value = value * 10 + (text.text[i] - '0');
    } else if (!json_reader_scaled(json, 0, &value)) {
        json_reader_skip_rest(json);
    }
    return value;
}

static enum err_code add_samples(struct gecko *gecko, const struct gecko_thread *thread,
                                 thread_id id, struct err *err)
{
    struct gather *const gather = gecko->gather;
    const struct tables *const tables =
        gecko->own.columns[STACK_FRAME].count > 0 ? &gecko->own : &gecko->shared;
    struct json_reader *const stacks = &gecko->samples[SAMPLE_STACK],
                              *const times = &gecko->samples[SAMPLE_TIME],
                              *const weights = &gecko->samples[SAMPLE_WEIGHT];
    const bool is_ms = strcmp(thread->weight_type, "tracing-ms") == 0;
    int64_t at_ns = 0;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++) {
        if (!thread->at[i])
            continue;
        json_reader_go_to(&gecko->samples[i], thread->at[i]);
        if (!json_reader_enter(&gecko->samples[i], JSON_ARRAY))
            return ERR_OK;
    }
    while (!rc && json_reader_item(stacks)) {
        int64_t stack = NONE, weight = 1, time_ns = 0;
        if (stacks->token != JSON_NULL &&
            (!json_reader_scaled(stacks, 0, &stack) || stack < 0 ||
             (uint64_t)stack >= tables->node_count)) {
            json_reader_fail(stacks, "a stack that is not in the table");
            break;
        }
        if (thread->at[SAMPLE_TIME] &&
            (!json_reader_item(times) || !json_reader_scaled(times, MS_SHIFT, &time_ns))) {
            json_reader_fail(times, "a time is missing, or too large,");
            break;
        }
        if (thread->at[SAMPLE_WEIGHT] &&
            (!json_reader_item(weights) ||
             !json_reader_scaled(weights, is_ms ? MS_SHIFT : 0, &weight) || weight < 0)) {
            json_reader_fail(weights, "a weight is missing, or below 0,");
            break;
        }
        if (__builtin_add_overflow(thread->has_deltas ? at_ns : 0, time_ns, &at_ns) ||
            (gather->is_time && !is_ms &&
             __builtin_mul_overflow(weight, gecko->interval_ns, &weight)))
            return err_set(err, ERR_LIMIT, "its times are too large");
        rc = gather_sample(gather, id, STATE_ALL_UNKNOWN,
                           stack == NONE ? 0 : tables->nodes[stack], (uint64_t)weight,
                           gather->has_instants && at_ns > 0 ? (uint64_t)at_ns : 0, err);
        gather->sample_count += weight > 0 && gather->is_time;
    }
    return rc;
}

static enum err_code read_thread(struct gecko *gecko, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    struct gather *const gather = gecko->gather;
    struct gecko_thread thread = { .weight_type = "samples" };
    enum err_code rc = ERR_OK;
    tables_clear(&gecko->own);
    while (!rc && json_reader_key(json)) {
        bool is_table = false;
        if (json_reader_is(json, "samples"))
            find_columns(gecko, &thread);
        else if (json_reader_is(json, "name"))
            gather_copy(thread.name, sizeof thread.name, json_reader_string(json));
        else if (json_reader_is(json, "processName"))
            gather_copy(thread.process, sizeof thread.process, json_reader_string(json));
        else if (json_reader_is(json, "pid"))
            thread.pid = read_id(json);
        else if (json_reader_is(json, "tid"))
            thread.tid = read_id(json);
        else
            rc = read_table(gecko, &gecko->own, &is_table, err);
        if (!rc && json->token == JSON_KEY && !is_table)
            json_reader_skip(json);
    }
    if (rc || json->input.code || !thread.at[SAMPLE_STACK])
        return rc;
    if (gecko->thread_count++ == 0) {
        const bool is_samples = strcmp(thread.weight_type, "samples") == 0;
        gather->is_time = strcmp(thread.weight_type, "tracing-ms") == 0 ||
                          (is_samples && gecko->interval_ns > 0);
        gather->has_instants = gather->is_time && thread.at[SAMPLE_TIME];
        if (!gather->is_time && !is_samples)
            snprintf(gather->counts, sizeof gather->counts, "%.100s", thread.weight_type);
        memcpy(gecko->counts, thread.weight_type, sizeof gecko->counts);
    }
    if (strcmp(gecko->counts, thread.weight_type) != 0) {
        gecko->left_out++;
        return ERR_OK;
    }
    thread_id id = 0;
    rc = find_nodes(gecko, &gecko->own, err);
    if (!rc)
        rc = gather_thread(
            gather, thread.pid, (struct gather_text){ thread.process, strlen(thread.process) },
            thread.tid, 0, (struct gather_text){ thread.name, strlen(thread.name) }, &id, err);
    return rc ? rc : add_samples(gecko, &thread, id, err);
}

static enum err_code read_threads(struct gecko *gecko, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (!json_reader_is(json, "threads")) {
            json_reader_skip(json);
            continue;
        }
        if (json_reader_enter(json, JSON_ARRAY))
            while (!rc && json_reader_item(json)) {
                if (json->token == JSON_OBJECT)
                    rc = read_thread(gecko, err);
                else
                    json_reader_fail(json, "a thread is no object");
            }
    }
    return rc;
}

bool gecko_begins(const unsigned char *data, size_t bytes)
{
    return bytes > 0 && *data == '{' &&
           (input_has(data, bytes, "\"preprocessedProfileVersion\"") ||
            input_has(data, bytes, "\"stackTable\""));
}

enum err_code gecko_read(struct gather *gather, int fd, struct err *err)
{
    struct gecko gecko = { .gather = gather };
    enum err_code rc = json_reader_pass(&gecko.file, fd, read_shared, &gecko, err);
    if (!rc)
        rc = json_reader_open(&gecko.file, fd, err);
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT && !rc; i++)
        rc = json_reader_open(&gecko.samples[i], fd, err);
    if (!rc)
        rc = read_threads(&gecko, err);
    if (!rc)
        rc = json_reader_check(&gecko.file, err);
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++) {
        if (!rc)
            rc = json_reader_check(&gecko.samples[i], err);
        json_reader_close(&gecko.samples[i]);
    }
    snprintf(gather->lacks, sizeof gather->lacks, "states%s",
             gather->started_at_ns ? "" : ", times of day");
    if (gecko.left_out)
        snprintf(gather->lacks, sizeof gather->lacks, "states, %zu threads in other units",
                 gecko.left_out);
    json_reader_close(&gecko.file);
    tables_deinit(&gecko.shared);
    tables_deinit(&gecko.own);
    return rc;
}
