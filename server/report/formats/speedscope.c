#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/utf8.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/report/chain.h"
#include "server/report/formats/writers.h"
#include "server/report/header.h"
#include "server/report/names.h"
#include "server/report/preorder.h"
#include "server/report/report_source.h"
#include "server/report/slices.h"
#include "server/wire/json.h"
#include "server/wire/session.h"

/* Viewers hold all stacks in memory. */
enum { MAX_RUNS = 1 << 19 };

/* One pass writes the stacks of a thread, the next their weights. */
enum pass { STACKS, WEIGHTS };

struct speedscope {
    const struct report_source *source;
    struct json json;
    struct slices slices;
    struct preorder order;
    struct chain chain;
};

/* speedscope adds up what has the same entry: a function, with its first line, unless lines are
 * asked for.  Entry 0 is that of the root, which no stack names. */
static void put_frame(struct json *json, const struct named_frame *frame, int32_t line)
{
    json_object(json);
    json_member_string(json, "name", frame->name);
    if (!frame->is_synthetic && frame->file.length > 0)
        json_member_string(json, "file", frame->file);
    if (line > 0)
        json_member_uint(json, "line", (uint64_t)line);
    json_end(json);
}

static uint32_t entry_of(const struct speedscope *scope, frame_id id)
{
    return scope->source->settings.by_line
               ? id
               : profile_frame_at(scope->source->snapshot, id).function;
}

static enum err_code put_part(struct speedscope *scope, const struct view_cells *cells,
                              enum pass pass, struct err *err)
{
    for (size_t i = 0; i < cells->count; i++) {
        if (pass == WEIGHTS) {
            json_uint(&scope->json, view_cell_ns(&cells->cells[i], scope->slices.period_ns));
            continue;
        }

        const enum err_code rc =
            chain_up(&scope->chain, scope->source->snapshot, cells->cells[i].node, err);
        json_array(&scope->json);
        for (size_t at = !rc ? scope->chain.depth : 0; at-- > 0;)
            json_uint(&scope->json, entry_of(scope, scope->chain.frames[at]));
        json_end(&scope->json);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code put_pass(struct speedscope *scope, thread_id thread, const char *key,
                              enum pass pass, struct err *err)
{
    enum err_code rc = ERR_OK;
    json_member_array(&scope->json, key);
    for (size_t i = 0; i < scope->slices.count && !rc; i++) {
        struct slice_part part;
        rc = slices_part(&scope->slices, i, thread, SLICES_BY_TREE, &scope->order, &part, err);
        if (rc)
            break;
        rc = put_part(scope, &part.cells, pass, err);
        slice_part_deinit(&part);
    }
    json_end(&scope->json);
    return rc;
}

/* speedscope knows these units, and takes no other. */
static const char *speedscope_unit(const char *unit)
{
    static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds",
                                         "seconds",     "bytes",        NULL };
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], unit) == 0)
            return unit;
    return "none";
}

static void begin_profile(struct json *json, const struct profile_snapshot *snapshot,
                          uint64_t end_ns)
{
    json_object(json);
    json_member_text(json, "type", "sampled");
    json_member_text(json, "unit",
                     speedscope_unit(profile_measure(snapshot, snapshot->measure)->pprof_unit));
    json_member_uint(json, "startValue", 0);
    json_member_uint(json, "endValue", end_ns);
}

static enum err_code put_profiles(struct speedscope *scope, struct err *err)
{
    enum err_code rc = ERR_OK;
    json_member_array(&scope->json, "profiles");
    if (scope->slices.thread_count == 0) {
        /* A profile for a selection without samples: speedscope opens no file without a profile. */
        begin_profile(&scope->json, scope->source->snapshot, 0);
        json_member_array(&scope->json, "samples");
        json_end(&scope->json);
        json_member_text(&scope->json, "name", "no samples");
        json_member_array(&scope->json, "weights");
        json_end(&scope->json);
        json_end(&scope->json);
    }
    for (size_t i = 0; i < scope->slices.thread_count && !rc; i++) {
        struct json *const json = &scope->json;
        const thread_id thread = scope->slices.threads[i];
        begin_profile(json, scope->source->snapshot, scope->slices.ns[i]);
        const uint64_t before = scope->slices.unordered_samples;
        rc = put_pass(scope, thread, "samples", STACKS, err);

        /* `unordered`: of the thread's samples. */
        const uint64_t unordered = scope->slices.unordered_samples - before;
        struct buffer name = { 0 };
        names_put_thread(&name, scope->source->snapshot, scope->slices.threads[i]);
        slices_put_note(&name, unordered, scope->slices.samples[i]);
        json_member_buffer(&scope->json, "name", &name);
        buffer_deinit(&name);

        if (!rc)
            rc = put_pass(scope, thread, "weights", WEIGHTS, err);
        json_end(json);
    }
    json_end(&scope->json);
    return rc;
}

static enum err_code put_file(struct speedscope *scope, struct err *err)
{
    struct json *const json = &scope->json;
    const struct session_target *const target = scope->source->session->target;
    struct buffer name = { 0 };
    json_object(json);
    json_member_text(json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    json_member_text(json, "exporter", "pyrometer@" PYROMETER_VERSION);
    const char *const word = target->argc > 0 ? target->argv[target->argc > 1] : "python";
    buffer_append(&name, word, utf8_cut(word, strlen(word), REPORT_COMMAND_BYTES));
    buffer_printf(&name, " (%d)", (int)target->pid);
    if (!scope->source->header->is_whole) {
        buffer_text(&name, ": ");
        report_header_put_text(scope->source->header, &name);
    }
    json_member_buffer(json, "name", &name);
    buffer_deinit(&name);
    json_member_uint(json, "activeProfileIndex", 0);

    const struct profile_snapshot *const snapshot = scope->source->snapshot;
    const bool by_line = scope->source->settings.by_line;
    json_member_object(&scope->json, "shared");
    json_member_array(&scope->json, "frames");
    for (frame_id id = 0; by_line && id < snapshot->sizes.frames; id++) {
        const struct named_frame frame = names_frame(snapshot, id);
        put_frame(&scope->json, &frame, frame.line);
    }
    for (function_id id = 0; !by_line && id < snapshot->sizes.functions; id++) {
        const struct named_frame function = names_function(snapshot, id);
        put_frame(&scope->json, &function, function.first_line);
    }
    json_end(&scope->json);
    json_end(&scope->json);

    const enum err_code rc = put_profiles(scope, err);
    json_end(json);
    return rc ? rc : json_finish(json, err);
}

enum err_code report_write_speedscope(const struct report_source *source, struct buffer *out,
                                      struct err *err)
{
    struct speedscope scope = { .source = source };
    json_init(&scope.json, out);
    enum err_code rc = slices_init(&scope.slices, source, MAX_RUNS, err);
    if (!rc)
        rc = preorder_init(&scope.order, source->snapshot, err);
    if (!rc)
        rc = put_file(&scope, err);
    preorder_deinit(&scope.order);
    slices_deinit(&scope.slices);
    chain_deinit(&scope.chain);
    return rc;
}
