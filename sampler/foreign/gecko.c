/*
 * Profiles of the Firefox Profiler.  Processed ones have tables of stacks, frames, functions and strings, each of columns, which a thread has
 * itself or shares with all others; and for each thread its samples, as columns too.  Raw ones, as Firefox writes them, have tables and samples of
 * rows, with a schema that says which item is what; a frame has its function, file and line as one text, and other processes are profiles
 * within the profile.
 *
 * Any member may come first, so the file is read for what is shared, then for threads; the columns of samples are read beside one another.  Only a
 * schema stands before its rows.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/foreign/formats.h"
#include "sampler/foreign/gather.h"
#include "sampler/foreign/gecko_tables.h"
#include "sampler/foreign/json_reader.h"

enum { NONE = GECKO_NONE, MS_SHIFT = 6, TEXT_BYTES = 160, MAX_PROCESSES = 1 << 12 };
/* Milliseconds since 1970 in 2001: what is less is no time of day. */
#define LEAST_START_MS INT64_C(1000000000000)

/* Columns of samples that are read beside one another. */
enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT, SAMPLE_COLUMN_COUNT };

static const char *const sample_keys[] = { "stack", "time", "weight" };

struct gecko_thread {
    uint64_t at[SAMPLE_COLUMN_COUNT]; /* offsets; 0: there is none */
    uint64_t rows_at;                 /* offset of samples that are rows; 0: they are columns */
    struct gecko_schema schema;       /* of these rows */
    bool has_deltas;                  /* times are those since the sample before */
    char name[TEXT_BYTES], process[TEXT_BYTES], weight_type[TEXT_BYTES];
    int64_t pid, tid;
};

struct gecko {
    struct gather *gather;
    struct json_reader file, samples[SAMPLE_COLUMN_COUNT];
    struct gecko_tables tables;
    int64_t interval_ns;
    int64_t
        *process_starts_ns; /* of the processes within a raw profile, since 1970; 0: unknown */
    size_t process_count, process_room;
    char counts[TEXT_BYTES]; /* the weight type of all threads that are read */
    size_t thread_count, left_out;
};

static size_t find_sample_column(const struct json_reader *json)
{
    size_t i = 0;
    while (i < SAMPLE_COLUMN_COUNT && !json_reader_is(json, sample_keys[i]))
        i++;
    return i;
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

/* Reads when the processes within a raw profile began, which the times of their samples are relative to. */
static enum err_code read_process_starts(struct gecko *gecko, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (json_reader_item(json)) {
        int64_t start_ns = 0;
        if (json->token != JSON_OBJECT) {
            json_reader_fail(json, "a process is no object");
            break;
        }
        if (gecko->process_count == MAX_PROCESSES)
            return err_set(err, ERR_LIMIT, "it has more than %d processes", MAX_PROCESSES);
        if (!VEC_RESERVE(gecko->process_starts_ns, gecko->process_room,
                         gecko->process_count + 1))
            return err_nomem(err);
        while (json_reader_key(json)) {
            if (!json_reader_is(json, "meta")) {
                json_reader_skip(json);
                continue;
            }
            if (!json_reader_enter(json, JSON_OBJECT))
                break;
            while (json_reader_key(json))
                if (json_reader_is(json, "startTime"))
                    start_ns = json_reader_number(json, MS_SHIFT);
                else
                    json_reader_skip(json);
        }
        gecko->process_starts_ns[gecko->process_count++] = start_ns;
    }
    return ERR_OK;
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
        } else if (json_reader_is(json, "processes")) {
            rc = read_process_starts(gecko, err);
        } else if (json_reader_is(json, "shared")) {
            if (!json_reader_enter(json, JSON_OBJECT))
                break;
            while (!rc && json_reader_key(json)) {
                rc = gecko_tables_read(&gecko->tables, &gecko->tables.shared, &is_table, err);
                if (!is_table)
                    json_reader_skip(json);
            }
        } else {
            json_reader_skip(json);
        }
    }
    return rc ? rc : gecko_tables_find_nodes(&gecko->tables, &gecko->tables.shared, err);
}

static void find_samples(struct gecko *gecko, struct gecko_thread *thread)
{
    struct json_reader *const json = &gecko->file;
    if (!json_reader_enter(json, JSON_OBJECT))
        return;
    while (json_reader_key(json)) {
        const bool is_deltas = json_reader_is(json, "timeDeltas");
        const size_t column = is_deltas ? SAMPLE_TIME : find_sample_column(json);
        uint64_t *const at = column < SAMPLE_COLUMN_COUNT   ? &thread->at[column]
                             : json_reader_is(json, "data") ? &thread->rows_at
                                                            : NULL;
        const uint64_t offset = json_reader_offset(json);
        if (json_reader_is(json, "weightType")) {
            gather_copy(thread->weight_type, sizeof thread->weight_type,
                        json_reader_string(json));
            continue;
        }
        if (json_reader_is(json, "schema")) {
            gecko_schema_read(json, sample_keys, SAMPLE_COLUMN_COUNT, &thread->schema);
            continue;
        }
        if (json_reader_next(json) == JSON_ARRAY && at) {
            *at = offset;
            thread->has_deltas |= is_deltas;
        }
        json_reader_skip_rest(json);
    }
    if (thread->rows_at && !thread->schema.is_known)
        json_reader_fail(json, "samples have no schema");
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

/* How the values of a thread's samples are read. */
struct sample_values {
    int64_t stack_count;
    bool is_ms; /* weights are milliseconds */
};

/* Takes a value of a sample, whose token was taken. */
static bool take_value(struct json_reader *json, size_t column,
                       const struct sample_values *values, int64_t *out)
{
    static const char *const faults[] = { "a stack that is not in the table",
                                          "a time is missing, or too large,",
                                          "a weight is missing, or below 0," };
    const bool is_ms = column == SAMPLE_TIME || (column == SAMPLE_WEIGHT && values->is_ms);
    if (column == SAMPLE_STACK && json->token == JSON_NULL)
        return true;
    if (json_reader_scaled(json, is_ms ? MS_SHIFT : 0, out) &&
        (column == SAMPLE_TIME || *out >= 0) &&
        (column != SAMPLE_STACK || *out < values->stack_count))
        return true;
    json_reader_fail(json, "%s", faults[column]);
    return false;
}

/* Takes the next sample; false: there is none, or a failure. */
static bool take_sample(struct gecko *gecko, const struct gecko_thread *thread,
                        const struct sample_values *values, int64_t out[SAMPLE_COLUMN_COUNT])
{
    struct json_reader *const stacks = &gecko->samples[SAMPLE_STACK];
    out[SAMPLE_STACK] = NONE;
    out[SAMPLE_TIME] = 0;
    out[SAMPLE_WEIGHT] = 1;
    if (!json_reader_item(stacks))
        return false;
    if (!thread->rows_at) {
        for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++) {
            if (thread->at[i] && i != SAMPLE_STACK)
                (void)json_reader_item(&gecko->samples[i]);
            if (thread->at[i] && !take_value(&gecko->samples[i], i, values, &out[i]))
                return false;
        }
        return true;
    }
    if (stacks->token != JSON_ARRAY) {
        json_reader_fail(stacks, "a sample is no list");
        return false;
    }
    for (size_t i = 0; json_reader_item(stacks); i++) {
        const int column = i < GECKO_ROW_ITEMS ? thread->schema.items[i] : NONE;
        if (column == NONE)
            json_reader_skip_rest(stacks);
        else if (!take_value(stacks, (size_t)column, values, &out[column]))
            return false;
    }
    return !stacks->input.code;
}

static enum err_code add_samples(struct gecko *gecko, const struct gecko_thread *thread,
                                 thread_id id, int64_t start_ns, struct err *err)
{
    struct gather *const gather = gecko->gather;
    const struct gecko_table_set *const set = gecko_tables_stacks(&gecko->tables);
    const struct sample_values values = { (int64_t)set->node_count,
                                          strcmp(thread->weight_type, "tracing-ms") == 0 };
    int64_t sample[SAMPLE_COLUMN_COUNT], at_ns = start_ns;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT; i++) {
        const uint64_t at =
            i == SAMPLE_STACK && thread->rows_at ? thread->rows_at : thread->at[i];
        if (!at)
            continue;
        json_reader_go_to(&gecko->samples[i], at);
        if (!json_reader_enter(&gecko->samples[i], JSON_ARRAY))
            return ERR_OK;
    }
    while (!rc && take_sample(gecko, thread, &values, sample)) {
        const int64_t stack = sample[SAMPLE_STACK];
        int64_t weight = sample[SAMPLE_WEIGHT];
        if (__builtin_add_overflow(thread->has_deltas ? at_ns : start_ns, sample[SAMPLE_TIME],
                                   &at_ns) ||
            (gather->is_time && !values.is_ms &&
             __builtin_mul_overflow(weight, gecko->interval_ns, &weight)))
            return err_set(err, ERR_LIMIT, "its times are too large");
        rc = gather_sample(gather, id, STATE_ALL_UNKNOWN, stack == NONE ? 0 : set->nodes[stack],
                           (uint64_t)weight,
                           gather->has_instants && at_ns > 0 ? (uint64_t)at_ns : 0, err);
        gather->sample_count += weight > 0 && gather->is_time;
    }
    return rc;
}

/* start_ns: what times are relative to. */
static enum err_code read_thread(struct gecko *gecko, int64_t start_ns, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    struct gather *const gather = gecko->gather;
    struct gecko_thread thread = { .weight_type = "samples" };
    enum err_code rc = ERR_OK;
    gecko_tables_begin_thread(&gecko->tables);
    while (!rc && json_reader_key(json)) {
        bool is_table = false;
        if (json_reader_is(json, "samples"))
            find_samples(gecko, &thread);
        else if (json_reader_is(json, "name"))
            gather_copy(thread.name, sizeof thread.name, json_reader_string(json));
        else if (json_reader_is(json, "processName"))
            gather_copy(thread.process, sizeof thread.process, json_reader_string(json));
        else if (json_reader_is(json, "pid"))
            thread.pid = read_id(json);
        else if (json_reader_is(json, "tid"))
            thread.tid = read_id(json);
        else
            rc = gecko_tables_read(&gecko->tables, &gecko->tables.own, &is_table, err);
        if (!rc && json->token == JSON_KEY && !is_table)
            json_reader_skip(json);
    }
    const bool has_times = thread.rows_at || thread.at[SAMPLE_TIME];
    if (rc || json->input.code || (!thread.rows_at && !thread.at[SAMPLE_STACK]))
        return rc;
    if (gecko->thread_count++ == 0) {
        const bool is_samples = strcmp(thread.weight_type, "samples") == 0;
        gather->is_time = strcmp(thread.weight_type, "tracing-ms") == 0 ||
                          (is_samples && gecko->interval_ns > 0);
        gather->has_instants = gather->is_time && has_times;
        if (!gather->is_time && !is_samples)
            snprintf(gather->counts, sizeof gather->counts, "%.100s", thread.weight_type);
        memcpy(gecko->counts, thread.weight_type, sizeof gecko->counts);
    }
    if (strcmp(gecko->counts, thread.weight_type) != 0) {
        gecko->left_out++;
        return ERR_OK;
    }
    thread_id id = 0;
    rc = gecko_tables_find_nodes(&gecko->tables, &gecko->tables.own, err);
    if (!rc)
        rc = gather_thread(
            gather, thread.pid, (struct gather_text){ thread.process, strlen(thread.process) },
            thread.tid, 0, (struct gather_text){ thread.name, strlen(thread.name) }, &id, err);
    return rc ? rc : add_samples(gecko, &thread, id, start_ns, err);
}

static enum err_code read_threads(struct gecko *gecko, int64_t start_ns, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    while (!rc && json_reader_item(json)) {
        if (json->token == JSON_OBJECT)
            rc = read_thread(gecko, start_ns, err);
        else
            json_reader_fail(json, "a thread is no object");
    }
    return rc;
}

/* The processes of a raw profile, in the order in which their starts were read. */
static enum err_code read_processes(struct gecko *gecko, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    const int64_t main_start_ns = (int64_t)gecko->gather->started_at_ns;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_ARRAY))
        return ERR_OK;
    for (size_t i = 0; !rc && json_reader_item(json); i++) {
        const int64_t start_ns = i < gecko->process_count ? gecko->process_starts_ns[i] : 0;
        const bool is_later = main_start_ns > 0 && start_ns > main_start_ns;
        while (!rc && json_reader_key(json)) {
            if (json_reader_is(json, "threads"))
                rc = read_threads(gecko, is_later ? start_ns - main_start_ns : 0, err);
            else if (!json_reader_is(json, "processes"))
                json_reader_skip(json);
            else if (json_reader_enter(json, JSON_ARRAY) && json_reader_item(json))
                json_reader_fail(json, "a process has processes of its own");
        }
    }
    return rc;
}

static enum err_code read_profile(struct gecko *gecko, struct err *err)
{
    struct json_reader *const json = &gecko->file;
    enum err_code rc = ERR_OK;
    if (!json_reader_enter(json, JSON_OBJECT))
        return ERR_OK;
    while (!rc && json_reader_key(json)) {
        if (json_reader_is(json, "threads"))
            rc = read_threads(gecko, 0, err);
        else if (json_reader_is(json, "processes"))
            rc = read_processes(gecko, err);
        else
            json_reader_skip(json);
    }
    return rc;
}

bool gecko_begins(const unsigned char *data, size_t bytes)
{
    return bytes > 0 && *data == '{' &&
           (input_has(data, bytes, "\"preprocessedProfileVersion\"") ||
            input_has(data, bytes, "\"stackTable\"") ||
            /* The metadata of a raw profile, whose tables come late. */
            (input_has(data, bytes, "\"meta\"") && input_has(data, bytes, "\"interval\"") &&
             input_has(data, bytes, "\"stackwalk\"")));
}

enum err_code gecko_read(struct gather *gather, int fd, struct err *err)
{
    struct gecko gecko = { .gather = gather };
    gecko.tables = (struct gecko_tables){ .gather = gather, .json = &gecko.file };
    enum err_code rc = json_reader_pass(&gecko.file, fd, read_shared, &gecko, err);
    if (!rc)
        rc = json_reader_open(&gecko.file, fd, err);
    for (size_t i = 0; i < SAMPLE_COLUMN_COUNT && !rc; i++)
        rc = json_reader_open(&gecko.samples[i], fd, err);
    if (!rc)
        rc = read_profile(&gecko, err);
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
    gecko_tables_deinit(&gecko.tables);
    free(gecko.process_starts_ns);
    return rc;
}
