#include <stdbool.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/flat.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/report_source.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

enum { SCHEMA_VERSION = 0, ENTRIES_PER_RECORD = 256 };

struct jsonl {
    const struct report_source *source;
    struct buffer *out;
    struct json json;
    size_t entries; /* in the record that is open; 0: none is */
};

/* Begins a record with what every record has. */
static void begin_record(struct jsonl *jsonl, const char *type)
{
    json_init(&jsonl->json, jsonl->out);
    json_object(&jsonl->json);
    json_member_text(&jsonl->json, "type", type);
    json_member_uint(&jsonl->json, "v", SCHEMA_VERSION);
    json_member_text(&jsonl->json, "run_id", jsonl->source->session->run);
}

static enum err_code end_record(struct jsonl *jsonl, struct err *err)
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
    return end_record(jsonl, err);
}

static enum err_code begin_entry(struct jsonl *jsonl, const struct kind *kind, struct err *err)
{
    enum err_code rc = ERR_OK;
    if (jsonl->entries == ENTRIES_PER_RECORD)
        rc = close_record(jsonl, err);
    if (jsonl->entries++ == 0) {
        begin_record(jsonl, kind->type);
        if (kind->agg) {
            json_member_text(&jsonl->json, "kind", kind->agg);
            json_member_text(&jsonl->json, "scope", "final");
            json_member_uint(&jsonl->json, "samples_total", kind->samples);
        }
        json_member_array(&jsonl->json, kind->entries);
    }
    json_object(&jsonl->json);
    return rc;
}

static enum err_code put_strings(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "string_table", NULL, "strings", 0 };
    enum err_code rc = ERR_OK;
    for (str_id id = 0; id < snapshot->sizes.strings && !rc; id++) {
        const struct strtab_string string = profile_string(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "str_id", id);
        json_member_string(&jsonl->json, "value", string);
        json_end(&jsonl->json);
    }
    return rc ? rc : close_record(jsonl, err);
}

/* Profiles without native frames have no such table. */
static enum err_code put_libraries(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "library_table", NULL, "libraries", 0 };
    enum err_code rc = ERR_OK;
    for (library_id id = 1; id < snapshot->sizes.libraries && !rc; id++) {
        const struct profile_library library = profile_library_at(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "library_id", id);
        json_member_uint(&jsonl->json, "path_str_id", library.path);
        json_member_uint(&jsonl->json, "build_id_str_id", library.build_id);
        json_member_bool(&jsonl->json, "interpreter",
                         library.flags & PROFILE_LIBRARY_INTERPRETER);
        json_member_bool(&jsonl->json, "kernel", library.flags & PROFILE_LIBRARY_KERNEL);
        json_end(&jsonl->json);
    }
    return rc ? rc : close_record(jsonl, err);
}

static enum err_code put_frames(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "frame_table", NULL, "frames", 0 };
    enum err_code rc = ERR_OK;
    for (frame_id id = 1; id < snapshot->sizes.frames && !rc; id++) {
        const struct profile_frame frame = profile_frame_at(snapshot, id);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "frame_id", id);
        json_member_uint(&jsonl->json, "path_str_id", function.file);
        json_member_uint(&jsonl->json, "func_str_id", function.name);
        json_member_int(&jsonl->json, "line", frame.line);
        json_member_int(&jsonl->json, "first_line", function.first_line);
        if (function.library)
            json_member_uint(&jsonl->json, "library_id", function.library);
        json_end(&jsonl->json);
    }
    return rc ? rc : close_record(jsonl, err);
}

static enum err_code put_threads(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "thread_table", NULL, "threads", 0 };
    enum err_code rc = ERR_OK;
    for (thread_id id = 0; id < snapshot->sizes.threads && !rc; id++) {
        const struct profile_thread thread = profile_thread_at(snapshot, id);
        const struct profile_process process = profile_process_at(snapshot, thread.process);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "thread_id", id);
        json_member_int(&jsonl->json, "pid", process.pid);
        json_member_int(&jsonl->json, "tid", thread.tid);
        json_member_uint(&jsonl->json, "name_str_id", thread.name);
        json_member_bool(&jsonl->json, "main", thread.is_main);
        json_end(&jsonl->json);
    }
    return rc ? rc : close_record(jsonl, err);
}

/* A stack is a frame on top of another stack; 0 is the empty one. */
static enum err_code put_stacks(struct jsonl *jsonl, struct err *err)
{
    const struct profile_snapshot *const snapshot = jsonl->source->snapshot;
    const struct kind kind = { "stack_table", NULL, "stacks", 0 };
    enum err_code rc = ERR_OK;
    for (node_id id = 1; id < snapshot->sizes.nodes && !rc; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "stack_id", id);
        json_member_uint(&jsonl->json, "parent_id", node.parent);
        json_member_uint(&jsonl->json, "frame_id", node.frame);
        json_end(&jsonl->json);
    }
    return rc ? rc : close_record(jsonl, err);
}

static enum err_code put_frame_sums(struct jsonl *jsonl, uint64_t *samples_out, struct err *err)
{
    struct flat flat;
    enum err_code rc =
        flat_init(&flat, jsonl->source->snapshot, jsonl->source->query, FLAT_FRAMES, err);
    if (rc)
        return rc;
    const struct kind kind = { "agg", "frame", "entries", flat.samples };
    *samples_out = flat.samples;
    for (frame_id id = 1; id < flat.row_count && !rc; id++) {
        if (flat.total[id] == 0)
            continue;
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "frame_id", id);
        json_member_uint(&jsonl->json, "self", flat.self[id]);
        json_member_uint(&jsonl->json, "cumulative", flat.total[id]);
        json_end(&jsonl->json);
    }
    flat_deinit(&flat);
    return rc ? rc : close_record(jsonl, err);
}

static enum err_code put_stack_sums(struct jsonl *jsonl, uint64_t samples, struct err *err)
{
    const struct kind kind = { "agg", "stack", "entries", samples };
    struct view_cells cells;
    enum err_code rc =
        view_cells_init(&cells, jsonl->source->snapshot, jsonl->source->query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < cells.count && !rc; i++) {
        struct buffer words = { 0 };
        names_put_state(&words, cells.cells[i].state);
        rc = begin_entry(jsonl, &kind, err);
        json_member_uint(&jsonl->json, "stack_id", cells.cells[i].node);
        json_member_uint(&jsonl->json, "thread_id", cells.cells[i].thread);
        json_member_buffer(&jsonl->json, "state", &words);
        json_member_uint(&jsonl->json, "count", cells.cells[i].count);
        json_end(&jsonl->json);
        buffer_deinit(&words);
    }
    view_cells_deinit(&cells);
    return rc ? rc : close_record(jsonl, err);
}

/* Spots have no thread and no state: a view of some threads or states has none. */
static enum err_code put_spots(struct jsonl *jsonl, uint64_t samples, struct err *err)
{
    const struct view_query *const query = jsonl->source->query;
    const struct kind kind = { "agg", "spot", "entries", samples };
    struct view_spots spots;
    if (view_query_leaves_out_spots(query))
        return ERR_OK;
    enum err_code rc = view_spots_init(&spots, jsonl->source->snapshot, query, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < spots.count && !rc; i++) {
        rc = begin_entry(jsonl, &kind, err);

        const struct view_spot *const cell = &spots.spots[i];
        const struct profile_spot spot = profile_spot_at(jsonl->source->snapshot, cell->spot);
        json_member_uint(&jsonl->json, "stack_id", cell->node);
        json_member_int(&jsonl->json, "line", spot.line);
        json_member_int(&jsonl->json, "end_line", spot.end_line);
        json_member_int(&jsonl->json, "col", spot.column);
        json_member_int(&jsonl->json, "end_col", spot.end_column);
        json_member_uint(&jsonl->json, "opcode_str_id", spot.opcode);
        json_member_uint(&jsonl->json, "base_opcode_str_id", spot.base);
        json_member_uint(&jsonl->json, "self", cell->self);
        json_member_uint(&jsonl->json, "cumulative", cell->total);

        json_end(&jsonl->json);
    }
    view_spots_deinit(&spots);
    return rc ? rc : close_record(jsonl, err);
}

enum err_code report_write_jsonl(const struct report_source *source, struct buffer *out,
                                 struct err *err)
{
    struct jsonl jsonl = { .source = source, .out = out };
    uint64_t samples = 0;

    const struct session_info *const session = jsonl.source->session;
    begin_record(&jsonl, "meta");
    json_member_uint(&jsonl.json, "sample_interval_usec",
                     (jsonl.source->header->period_ns + NS_PER_MS / 2000) / (NS_PER_MS / 1000));
    json_member_text(&jsonl.json, "mode", session_mode_texts[session->options->mode]);
    json_key(&jsonl.json, "session");
    session_info_write(&jsonl.json, session);
    json_key(&jsonl.json, "selection");
    report_header_write(jsonl.source->header, &jsonl.json);
    enum err_code rc = end_record(&jsonl, err);

    if (!rc)
        rc = put_strings(&jsonl, err);
    if (!rc)
        rc = put_libraries(&jsonl, err);
    if (!rc)
        rc = put_frames(&jsonl, err);
    if (!rc)
        rc = put_threads(&jsonl, err);
    if (!rc)
        rc = put_stacks(&jsonl, err);
    if (!rc)
        rc = put_frame_sums(&jsonl, &samples, err);
    if (!rc)
        rc = put_stack_sums(&jsonl, samples, err);
    if (!rc)
        rc = put_spots(&jsonl, samples, err);
    if (rc)
        return rc;
    begin_record(&jsonl, "end");
    json_member_uint(&jsonl.json, "samples_total", samples);
    return end_record(&jsonl, err);
}
