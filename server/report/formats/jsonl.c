#include <stdbool.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/flat.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

enum { SCHEMA_VERSION = 0, ENTRIES_PER_RECORD = 256 };

struct jsonl {
    const struct report_source *source;
    struct buffer *out;
    struct json json;
    size_t entries; /* in the record that is open; 0: none is */
};

static void put_uint(struct jsonl *jsonl, const char *key, uint64_t value)
{
    json_key(&jsonl->json, key);
    json_uint(&jsonl->json, value);
}

static void put_int(struct jsonl *jsonl, const char *key, int64_t value)
{
    json_key(&jsonl->json, key);
    json_int(&jsonl->json, value);
}

static void put_text(struct jsonl *jsonl, const char *key, const char *text)
{
    json_key(&jsonl->json, key);
    json_text(&jsonl->json, text);
}

/* Begins a record with what every record has. */
static void begin(struct jsonl *jsonl, const char *type)
{
    json_init(&jsonl->json, jsonl->out);
    json_object(&jsonl->json);
    put_text(jsonl, "type", type);
    put_uint(jsonl, "v", SCHEMA_VERSION);
    put_text(jsonl, "run_id", jsonl->source->session->run);
}

static enum err_code end(struct jsonl *jsonl, struct err *err)
{
    json_end(&jsonl->json);
    const enum err_code rc = json_finish(&jsonl->json, err);
    buffer_char(jsonl->out, '\n');
    return rc;
}

/* A table is several records of the same kind, none too long to be read as one line. */
struct kind {
    const char *type;
    const char *agg; /* kind of an aggregate, NULL: a table */
    const char *entries;
    uint64_t samples;
};

static enum err_code close_record(struct jsonl *jsonl, struct err *err)
{
    if (jsonl->entries == 0)
        return ERR_OK;
    jsonl->entries = 0;
    json_end(&jsonl->json);
    return end(jsonl, err);
}

static enum err_code begin_entry(struct jsonl *jsonl, const struct kind *kind, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (jsonl->entries == ENTRIES_PER_RECORD)
        rc = close_record(jsonl, err);
    if (jsonl->entries++ == 0) {
        begin(jsonl, kind->type);
        if (kind->agg) {
            put_text(jsonl, "kind", kind->agg);
            put_text(jsonl, "scope", "final");
            put_uint(jsonl, "samples_total", kind->samples);
        }
        json_key(&jsonl->json, kind->entries);
        json_array(&jsonl->json);
    }
    json_object(&jsonl->json);
    return rc;
}

static void end_entry(struct jsonl *jsonl)
{
    json_end(&jsonl->json);
}

static enum err_code put_meta(struct jsonl *jsonl, struct err *err)
{
    const struct session_info *const session = jsonl->source->session;
    begin(jsonl, "meta");
    put_uint(jsonl, "sample_interval_usec",
             (report_period_ns(jsonl->source) + NS_PER_MS / 2000) / (NS_PER_MS / 1000));
    put_text(jsonl, "mode", sampler_mode_texts[session->options->mode]);
    json_key(&jsonl->json, "session");
    session_write(&jsonl->json, session);
    json_key(&jsonl->json, "selection");
    report_header_write(jsonl->source->header, &jsonl->json);
    return end(jsonl, err);
}

static enum err_code put_strings(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "string_table", NULL, "strings", 0 };
    enum err_code rc = ERR_OK;
    for (str_id id = 0; id < snapshot->sizes.strings && rc == ERR_OK; id++) {
        const struct strtab_string string = profile_string(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "str_id", id);
        json_key(&jsonl->json, "value");
        json_string(&jsonl->json, string.text, string.length);
        end_entry(jsonl);
    }
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

/* Profiles without native frames have no such table. */
static enum err_code put_libraries(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "library_table", NULL, "libraries", 0 };
    enum err_code rc = ERR_OK;
    for (library_id id = 1; id < snapshot->sizes.libraries && rc == ERR_OK; id++) {
        const struct profile_library library = profile_library_at(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "library_id", id);
        put_uint(jsonl, "path_str_id", library.path);
        put_uint(jsonl, "build_id_str_id", library.build_id);
        json_key(&jsonl->json, "interpreter");
        json_bool(&jsonl->json, library.flags & PROFILE_LIBRARY_INTERPRETER);
        end_entry(jsonl);
    }
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

static enum err_code put_frames(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "frame_table", NULL, "frames", 0 };
    enum err_code rc = ERR_OK;
    for (frame_id id = 1; id < snapshot->sizes.frames && rc == ERR_OK; id++) {
        const struct profile_frame frame = profile_frame_at(snapshot, id);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "frame_id", id);
        put_uint(jsonl, "path_str_id", function.file);
        put_uint(jsonl, "func_str_id", function.name);
        put_int(jsonl, "line", frame.line);
        put_int(jsonl, "first_line", function.first_line);
        if (function.library)
            put_uint(jsonl, "library_id", function.library);
        end_entry(jsonl);
    }
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

static enum err_code put_threads(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "thread_table", NULL, "threads", 0 };
    enum err_code rc = ERR_OK;
    for (thread_id id = 0; id < snapshot->sizes.threads && rc == ERR_OK; id++) {
        const struct profile_thread thread = profile_thread_at(snapshot, id);
        const struct profile_process process = profile_process_at(snapshot, thread.process);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "thread_id", id);
        put_int(jsonl, "pid", process.pid);
        put_int(jsonl, "tid", thread.tid);
        put_uint(jsonl, "name_str_id", thread.name);
        json_key(&jsonl->json, "main");
        json_bool(&jsonl->json, thread.is_main);
        end_entry(jsonl);
    }
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

/* A stack is a frame on top of another stack; 0 is the empty one. */
static enum err_code put_stacks(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "stack_table", NULL, "stacks", 0 };
    enum err_code rc = ERR_OK;
    for (node_id id = 1; id < snapshot->sizes.nodes && rc == ERR_OK; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "stack_id", id);
        put_uint(jsonl, "parent_id", node.parent);
        put_uint(jsonl, "frame_id", node.frame);
        end_entry(jsonl);
    }
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

static enum err_code put_frame_sums(struct jsonl *jsonl, uint64_t *samples_out, struct err *err)
{
    struct flat flat;
    enum err_code rc =
        flat_init(&flat, jsonl->source->snapshot, jsonl->source->query, FLAT_FRAMES, err);
    if (rc != ERR_OK)
        return rc;
    const struct kind kind = { "agg", "frame", "entries", flat.samples };
    *samples_out = flat.samples;
    for (frame_id id = 1; id < flat.row_count && rc == ERR_OK; id++) {
        if (flat.total[id] == 0)
            continue;
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "frame_id", id);
        put_uint(jsonl, "self", flat.self[id]);
        put_uint(jsonl, "cumulative", flat.total[id]);
        end_entry(jsonl);
    }
    flat_deinit(&flat);
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

static enum err_code put_stack_sums(struct jsonl *jsonl, uint64_t samples, struct err *err)
{
    const struct kind kind = { "agg", "stack", "entries", samples };
    struct view_cells cells;
    enum err_code rc =
        view_cells_init(&cells, jsonl->source->snapshot, jsonl->source->query, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < cells.count && rc == ERR_OK; i++) {
        struct buffer words = { 0 };
        names_put_state(&words, cells.cells[i].state);
        rc = begin_entry(jsonl, &kind, err);
        put_uint(jsonl, "stack_id", cells.cells[i].node);
        put_uint(jsonl, "thread_id", cells.cells[i].thread);
        json_key(&jsonl->json, "state");
        json_string(&jsonl->json, words.data ? words.data : "", words.length);
        put_uint(jsonl, "count", cells.cells[i].count);
        end_entry(jsonl);
        buffer_deinit(&words);
    }
    view_cells_deinit(&cells);
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

static void put_spot(struct jsonl *jsonl, const struct view_spot *cell)
{
    const struct profile_spot spot = profile_spot_at(jsonl->source->snapshot, cell->spot);
    put_uint(jsonl, "stack_id", cell->node);
    put_int(jsonl, "line", spot.line);
    put_int(jsonl, "end_line", spot.end_line);
    put_int(jsonl, "col", spot.column);
    put_int(jsonl, "end_col", spot.end_column);
    put_uint(jsonl, "opcode_str_id", spot.opcode);
    put_uint(jsonl, "base_opcode_str_id", spot.base);
    put_uint(jsonl, "self", cell->self);
    put_uint(jsonl, "cumulative", cell->total);
}

/* Spots have no thread and no state: a view of some threads or states has none. */
static enum err_code put_spots(struct jsonl *jsonl, uint64_t samples, struct err *err)
{
    const struct view_query *const query = jsonl->source->query;
    const struct kind kind = { "agg", "spot", "entries", samples };
    struct view_spots spots;
    if (query->threads || query->processes || state_condition_is_set(&query->states))
        return ERR_OK;
    enum err_code rc = view_spots_init(&spots, jsonl->source->snapshot, query, err);
    if (rc != ERR_OK)
        return rc;
    for (size_t i = 0; i < spots.count && rc == ERR_OK; i++) {
        rc = begin_entry(jsonl, &kind, err);
        put_spot(jsonl, &spots.spots[i]);
        end_entry(jsonl);
    }
    view_spots_deinit(&spots);
    return rc == ERR_OK ? close_record(jsonl, err) : rc;
}

enum err_code report_write_jsonl(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct jsonl jsonl = { .source = source, .out = out };
    uint64_t samples = 0;
    enum err_code rc = put_meta(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_strings(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_libraries(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_frames(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_threads(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_stacks(&jsonl, err);
    if (rc == ERR_OK)
        rc = put_frame_sums(&jsonl, &samples, err);
    if (rc == ERR_OK)
        rc = put_stack_sums(&jsonl, samples, err);
    if (rc == ERR_OK)
        rc = put_spots(&jsonl, samples, err);
    if (rc != ERR_OK)
        return rc;
    begin(&jsonl, "end");
    put_uint(&jsonl, "samples_total", samples);
    return end(&jsonl, err);
}
