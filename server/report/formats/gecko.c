#include <stdio.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/wait.h"
#include "server/report/formats/gecko_rows.h"
#include "server/report/formats/gecko_tables.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"
#include "server/report/slices.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

/* The processed profile format of that version; newer Firefox Profilers upgrade it. */
enum { PROCESSED_VERSION = 61, GECKO_VERSION = 31, INTERVAL_MARKER = 1, MS_DECIMALS = 6 };

static const struct category_row {
    const char *name, *colour;
} categories[] = {
#define X(name, text, colour) { text, colour },
    GECKO_CATEGORIES(X)
#undef X
};

/* The viewer holds all of them in memory. */
enum { MAX_RUNS = 1 << 19 };

struct gecko {
    const struct report_source *source;
    const struct profile_snapshot *snapshot;
    struct json json;
    struct slices slices;
    struct preorder order;
};

/* Milliseconds, as all times here are. */
static void put_ms(struct gecko *gecko, uint64_t ns)
{
    json_decimal(&gecko->json, ns / (NS_PER_MS / 1000), 3);
}

static void put_key_ms(struct gecko *gecko, const char *key, uint64_t ns)
{
    json_key(&gecko->json, key);
    put_ms(gecko, ns);
}

struct field {
    const char *key, *label, *format;
};

static const struct field opcode_fields[] = {
    { "opname", "Instruction", "string" },
    { "base_opname", "Form of", "string" },
    { "is_specialized", "Specialized", "string" },
    { "line", "Line", "integer" },
    { "column", "Column", "integer" },
    { "function", "Function", "string" },
};

static const struct field wait_fields[] = {
    { "wait", "Waits for", "string" },
    { "kind", "Kind", "string" },
    { "peer", "Peer", "string" },
};

static void put_schema(struct gecko *gecko, const char *name, const char *label,
                       const struct field *fields, size_t field_count)
{
    json_object(&gecko->json);
    json_member_text(&gecko->json, "name", name);
    json_member_text(&gecko->json, "tooltipLabel", label);
    json_member_text(&gecko->json, "tableLabel", label);
    json_member_text(&gecko->json, "chartLabel", label);
    json_member_array(&gecko->json, "display");
    json_text(&gecko->json, "marker-chart");
    json_text(&gecko->json, "marker-table");
    json_end(&gecko->json);
    json_member_array(&gecko->json, "fields");
    for (size_t i = 0; i < field_count; i++) {
        json_object(&gecko->json);
        json_member_text(&gecko->json, "key", fields[i].key);
        json_member_text(&gecko->json, "label", fields[i].label);
        json_member_text(&gecko->json, "format", fields[i].format);
        json_end(&gecko->json);
    }
    json_end(&gecko->json);
    json_end(&gecko->json);
}

static void put_entry(struct gecko *gecko, const char *label, const char *format)
{
    json_object(&gecko->json);
    json_member_text(&gecko->json, "label", label);
    json_member_text(&gecko->json, "format", format);
    json_key(&gecko->json, "value");
}

static void put_counter(struct gecko *gecko, const char *label, uint64_t value)
{
    put_entry(gecko, label, "integer");
    json_uint(&gecko->json, value);
    json_end(&gecko->json);
}

/* Puts the selection and the session's quality, which the profiler's page shows though it does
 * not know them. */
static void put_extra(struct gecko *gecko)
{
    const struct quality *const quality = &gecko->snapshot->quality;
    json_member_array(&gecko->json, "extra");

    const struct report_header *const header = gecko->source->header;
    struct buffer text = { 0 };
    report_header_put_text(header, &text);
    json_object(&gecko->json);
    json_member_text(&gecko->json, "label", "What was selected");
    json_member_array(&gecko->json, "entries");
    put_entry(gecko, "Selection", "string");
    json_string(&gecko->json, text.data ? text.data : "", text.length);
    json_end(&gecko->json);
    put_counter(gecko, "Samples", header->samples);
    put_entry(gecko, "Time they stand for", "duration");
    put_ms(gecko, header->ns);
    json_end(&gecko->json);
    json_end(&gecko->json);
    json_end(&gecko->json);
    buffer_deinit(&text);

    json_object(&gecko->json);
    json_member_text(&gecko->json, "label", "How the session was measured");
    json_member_array(&gecko->json, "entries");
    put_counter(gecko, "Samples", quality->samples);
    put_counter(gecko, "Exact", quality->exact);
    put_counter(gecko, "Retried", quality->retried);
    put_counter(gecko, "Truncated", quality->truncated);
    put_counter(gecko, "Missed ticks", quality->missed_ticks);
    put_counter(gecko, "Samples not in order of time", gecko->slices.unordered_samples);
    json_end(&gecko->json);
    json_end(&gecko->json);
    json_end(&gecko->json);
}

static void put_meta(struct gecko *gecko)
{
    const struct session_info *const session = gecko->source->session;
    json_member_object(&gecko->json, "meta");
    json_member_uint(&gecko->json, "version", GECKO_VERSION);
    json_member_uint(&gecko->json, "preprocessedProfileVersion", PROCESSED_VERSION);
    put_key_ms(gecko, "interval", gecko->slices.period_ns);
    put_key_ms(gecko, "startTime", session->status.started_at_ns);
    put_key_ms(gecko, "profilingStartTime", gecko->source->header->from_ns);
    put_key_ms(gecko, "profilingEndTime", gecko->source->header->to_ns);
    json_member_uint(&gecko->json, "processType", 0);
    json_member_uint(&gecko->json, "stackwalk", 0);
    json_member_bool(&gecko->json, "debug", false);
    json_member_bool(&gecko->json, "symbolicated", true);
    json_member_bool(&gecko->json, "symbolicationNotSupported", true);
    json_member_bool(&gecko->json, "usesOnlyOneStackType", true);
    json_member_bool(&gecko->json, "sourceCodeIsNotOnSearchfox", true);
    json_member_text(&gecko->json, "importedFrom", "pyrometer " PYROMETER_VERSION);

    const struct session_target *const target = gecko->source->session->target;
    struct buffer text = { 0 };
    for (size_t i = 0; i < target->argc; i++) {
        buffer_text(&text, i > 0 ? " " : "");
        buffer_text(&text, target->argv[i]);
    }
    const char *const word = target->argc > 1 ? target->argv[1] : "Python";
    json_key(&gecko->json, "product");
    json_string(&gecko->json, word, utf8_cut(word, strlen(word), REPORT_COMMAND_BYTES));
    json_member_buffer(&gecko->json, "arguments", &text);
    buffer_deinit(&text);

    json_member_object(&gecko->json, "sampleUnits");
    json_member_text(&gecko->json, "time", "ms");
    json_member_text(&gecko->json, "eventDelay", "ms");
    json_member_text(&gecko->json, "threadCPUDelta", "ns");
    json_end(&gecko->json);

    json_member_array(&gecko->json, "categories");
    for (size_t i = 0; i < GECKO_CATEGORY_COUNT; i++) {
        json_object(&gecko->json);
        json_member_text(&gecko->json, "name", categories[i].name);
        json_member_text(&gecko->json, "color", categories[i].colour);
        json_member_array(&gecko->json, "subcategories");
        json_text(&gecko->json, "Other");
        json_end(&gecko->json);
        json_end(&gecko->json);
    }
    json_end(&gecko->json);

    json_member_array(&gecko->json, "markerSchema");
    put_schema(gecko, "State", "{marker.name}", NULL, 0);
    put_schema(gecko, "Opcode", "{marker.data.opname}", opcode_fields,
               sizeof opcode_fields / sizeof *opcode_fields);
    put_schema(gecko, "Wait", "{marker.data.wait}", wait_fields,
               sizeof wait_fields / sizeof *wait_fields);
    json_end(&gecko->json);

    put_extra(gecko);
    json_end(&gecko->json);
}

/* A sample lasts until the next one, so one without a stack and weight ends the last row. */
static void put_samples(struct gecko *gecko, const struct gecko_rows *rows)
{
    const bool by_time = gecko->source->header->has_periods;
    const bool has_end = rows->count > 0;
    json_member_object(&gecko->json, "samples");
    json_member_array(&gecko->json, "stack");
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].node == 0)
            json_null(&gecko->json);
        else
            json_uint(&gecko->json, rows->rows[i].node - 1);
    if (has_end)
        json_null(&gecko->json);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "time");
    for (size_t i = 0; i < rows->count; i++)
        put_ms(gecko, rows->rows[i].start_ns);
    if (has_end)
        put_ms(gecko, rows->rows[rows->count - 1].end_ns);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "weight");
    for (size_t i = 0; i < rows->count; i++)
        if (by_time)
            json_decimal(&gecko->json, rows->rows[i].ns, MS_DECIMALS);
        else
            json_uint(&gecko->json, rows->rows[i].samples);
    if (has_end)
        json_uint(&gecko->json, 0);
    json_end(&gecko->json);
    json_member_text(&gecko->json, "weightType", by_time ? "tracing-ms" : "samples");
    json_member_array(&gecko->json, "threadCPUDelta");
    for (size_t i = 0; i < rows->count + has_end; i++) {
        /* The CPU time between the sample before and this one: that of the row before. */
        const struct gecko_row *const before = i > 0 ? &rows->rows[i - 1] : NULL;
        if (before && before->state & STATE_UNKNOWN_ON_CPU)
            json_null(&gecko->json);
        else
            json_uint(&gecko->json, before && before->state & STATE_ON_CPU
                                        ? before->end_ns - before->start_ns
                                        : 0);
    }
    json_end(&gecko->json);
    json_member_uint(&gecko->json, "length", rows->count + has_end);
    json_end(&gecko->json);
}

static void put_key_string(struct gecko *gecko, const char *key, str_id id)
{
    json_member_string(&gecko->json, key, profile_string(gecko->snapshot, id));
}

static void put_marker_data(struct gecko *gecko, const struct gecko_marker *marker)
{
    if (marker->name == GECKO_OPCODE) {
        const struct profile_spot spot = profile_spot_at(gecko->snapshot, marker->spot);
        json_object(&gecko->json);
        json_member_text(&gecko->json, "type", "Opcode");
        put_key_string(gecko, "opname", spot.opcode);
        put_key_string(gecko, "base_opname", spot.base);
        json_member_text(&gecko->json, "is_specialized",
                         spot.opcode != spot.base ? "yes" : "no");
        if (spot.line > 0)
            json_member_uint(&gecko->json, "line", (uint64_t)spot.line);
        if (spot.column >= 0)
            json_member_uint(&gecko->json, "column", (uint64_t)spot.column);
        put_key_string(gecko, "function",
                       profile_function_at(gecko->snapshot, spot.function).name);
        json_end(&gecko->json);
        return;
    }
    if (marker->name == GECKO_WAIT) {
        const function_id mark = marker->wait;
        struct buffer text = { 0 };
        struct wait_text wait;
        json_object(&gecko->json);
        json_member_text(&gecko->json, "type", "Wait");
        if (wait_of_function(gecko->snapshot, mark, &wait)) {
            const int length = (int)wait.detail_length;
            buffer_printf(&text, "%s%s%.*s", wait_cause_title(wait.cause), length ? " " : "",
                          length, wait.detail);
            json_member_text(&gecko->json, "wait", buffer_string(&text));
            json_member_text(&gecko->json, "kind",
                             wait_cause_is_idle(wait.cause) ? "idle" : "blocked");
            if (length > 0) {
                json_key(&gecko->json, "peer");
                json_string(&gecko->json, wait.detail, wait.detail_length);
            }
        }
        json_end(&gecko->json);
        buffer_deinit(&text);
        return;
    }
    json_object(&gecko->json);
    json_member_text(&gecko->json, "type", "State");
    json_end(&gecko->json);
}

static void put_markers(struct gecko *gecko, const struct gecko_rows *rows)
{
    const uint32_t strings = gecko->snapshot->sizes.strings;
    json_member_object(&gecko->json, "markers");
    json_member_array(&gecko->json, "data");
    for (size_t i = 0; i < rows->marker_count; i++)
        put_marker_data(gecko, &rows->markers[i]);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "name");
    for (size_t i = 0; i < rows->marker_count; i++)
        json_uint(&gecko->json, strings + (uint32_t)rows->markers[i].name);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "startTime");
    for (size_t i = 0; i < rows->marker_count; i++)
        put_ms(gecko, rows->markers[i].start_ns);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "endTime");
    for (size_t i = 0; i < rows->marker_count; i++)
        put_ms(gecko, rows->markers[i].end_ns);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "phase");
    for (size_t i = 0; i < rows->marker_count; i++)
        json_uint(&gecko->json, INTERVAL_MARKER);
    json_end(&gecko->json);
    json_member_array(&gecko->json, "category");
    for (size_t i = 0; i < rows->marker_count; i++) {
        uint32_t category = 0;
        while (strcmp(categories[category].name,
                      gecko_marker_category(rows->markers[i].name)) != 0)
            category++;
        json_uint(&gecko->json, category);
    }
    json_end(&gecko->json);
    json_member_uint(&gecko->json, "length", rows->marker_count);
    json_end(&gecko->json);
}

struct identity {
    struct strtab_string name, process;
    int32_t pid, tid;
    bool is_main;
};

static void put_identity(struct gecko *gecko, const struct identity *identity)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)identity->pid);
    json_member_string(&gecko->json, "name", identity->name);
    json_member_text(&gecko->json, "pid", pid);
    json_member_int(&gecko->json, "tid", identity->tid);
    json_member_bool(&gecko->json, "isMainThread", identity->is_main);
    json_member_string(&gecko->json, "processName", identity->process);
    json_member_text(&gecko->json, "processType", "default");
    json_member_uint(&gecko->json, "processStartupTime", 0);
    json_member_null(&gecko->json, "processShutdownTime");
    json_member_uint(&gecko->json, "registerTime", 0);
    json_member_null(&gecko->json, "unregisterTime");
    json_member_bool(&gecko->json, "showMarkersInTimeline", true);
    json_member_array(&gecko->json, "pausedRanges");
    json_end(&gecko->json);
}

static enum err_code put_thread(struct gecko *gecko, thread_id thread, struct err *err)
{
    struct gecko_rows rows;
    const enum err_code rc = gecko_rows_init(&rows, &gecko->slices, &gecko->order, thread, err);
    if (rc)
        return rc;
    json_object(&gecko->json);

    const struct profile_thread row = profile_thread_at(gecko->snapshot, thread);
    const struct profile_process process = profile_process_at(gecko->snapshot, row.process);
    struct buffer made = { 0 };
    struct identity identity = { .name = profile_string(gecko->snapshot, row.name),
                                 .process = profile_string(gecko->snapshot, process.name),
                                 .pid = process.pid,
                                 .tid = row.tid,
                                 .is_main = row.is_main };
    if (identity.name.length == 0) {
        names_put_thread(&made, gecko->snapshot, thread);
        identity.name =
            (struct strtab_string){ made.data ? made.data : "", (uint32_t)made.length };
    }
    put_identity(gecko, &identity);
    buffer_deinit(&made);

    put_samples(gecko, &rows);
    put_markers(gecko, &rows);
    json_end(&gecko->json);
    gecko_rows_deinit(&rows);
    return ERR_OK;
}

enum err_code report_write_gecko(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct gecko gecko = { .source = source, .snapshot = source->snapshot };
    /* Instructions are known by slice: their markers need rows that are few. */
    const size_t max_runs = source->snapshot->sizes.spots > 0 ? 0 : MAX_RUNS;
    json_init(&gecko.json, out);
    enum err_code rc = slices_init(&gecko.slices, source, max_runs, err);
    if (!rc)
        rc = preorder_init(&gecko.order, source->snapshot, err);
    if (!rc) {
        json_object(&gecko.json);
        json_key(&gecko.json, "libs");
        gecko_put_libs(&gecko.json, gecko.snapshot);
        json_key(&gecko.json, "shared");
        rc = gecko_put_shared(&gecko.json, gecko.snapshot, err);
        json_member_array(&gecko.json, "threads");
        if (gecko.slices.thread_count == 0) {
            /* The Firefox Profiler opens no file without a thread. */
            static const char name[] = "no samples", process[] = "python";
            const struct gecko_rows none = { .count = 0 };
            const int32_t pid = (int32_t)gecko.source->session->target->pid;
            const struct identity identity = { .name = { name, sizeof name - 1 },
                                               .process = { process, sizeof process - 1 },
                                               .pid = pid,
                                               .tid = pid,
                                               .is_main = true };
            json_object(&gecko.json);
            put_identity(&gecko, &identity);
            put_samples(&gecko, &none);
            put_markers(&gecko, &none);
            json_end(&gecko.json);
        }
        for (size_t i = 0; i < gecko.slices.thread_count && !rc; i++)
            rc = put_thread(&gecko, gecko.slices.threads[i], err);
        json_end(&gecko.json);
        /* Behind the threads: then it is known how many of their samples are in order. */
        put_meta(&gecko);
        json_end(&gecko.json);
        if (!rc)
            rc = json_finish(&gecko.json, err);
    }
    preorder_deinit(&gecko.order);
    slices_deinit(&gecko.slices);
    return rc;
}
