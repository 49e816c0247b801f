#include "server/report/embedded.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/series.h"
#include "sampler/profile/views/memory_slots.h"
#include "sampler/profile/views/view.h"
#include "server/report/hotlines.h"
#include "server/report/instructions.h"
#include "server/report/report_source.h"
#include "server/source/source.h"
#include "server/wire/heat.h"
#include "server/wire/json.h"
#include "server/wire/memory.h"
#include "server/wire/session.h"

const struct embedded_bounds embedded_hottest = {
    .files = 8, .text_bytes = 48 << 10, .whole_bytes = 12 << 10, .instructions = 1200
};
const struct embedded_bounds embedded_all = { .files = SIZE_MAX,
                                              .text_bytes = 32 << 20,
                                              .whole_bytes = SOURCE_MAX_BYTES,
                                              .instructions = SIZE_MAX,
                                              .is_all = true };

enum err_code embedded_write_heat(struct json *json, const struct report_source *source,
                                  struct err *err)
{
    const struct view_query *const query = source->query;
    const struct profile_snapshot *const heat =
        source->heat_of ? source->heat_of : source->snapshot;
    const uint64_t last_ns = source->snapshot->end_ns;
    const uint64_t to_ns = query->to_ns && query->to_ns < last_ns ? query->to_ns : last_ns;
    const uint64_t end = (to_ns + NS_PER_S - 1) / NS_PER_S;
    uint64_t first = query->from_ns / NS_PER_S;
    struct series series;
    bool any = false;
    if (end > first + EMBEDDED_HEAT_SECONDS)
        first = end - EMBEDDED_HEAT_SECONDS;
    const enum err_code rc = profile_copy_series(heat->profile, first, end, &series, err);
    if (rc)
        return rc;
    for (uint64_t s = first; s < end; s++)
        any |= series_second_at(&series, s) != NULL;
    if (any) {
        json_member_object(json, "heat");
        json_member_uint(json, "from", first);
        json_member_uint(json, "to", end);
        heat_write_seconds(json, &series, first, end, 0);
        json_end(json);
    }
    series_deinit(&series);
    return ERR_OK;
}

/* The processes of `from` that have the pids of the chosen ones, or of those of the chosen threads: a report with filters has tables of
 * its own.  Returns their number. */
static size_t find_processes(const struct report_source *source,
                             const struct profile_snapshot *from, process_id *out)
{
    const struct view_query *const query = source->query;
    const struct profile_snapshot *const snapshot = source->snapshot;
    const size_t chosen = query->processes ? query->process_count : query->thread_count;
    size_t count = 0;
    for (process_id id = 0; id < from->sizes.processes; id++)
        for (size_t i = 0; i < chosen; i++) {
            if (!query->processes && query->threads[i] >= snapshot->sizes.threads)
                continue;
            const process_id process =
                query->processes ? query->processes[i]
                                 : profile_thread_at(snapshot, query->threads[i]).process;
            if (profile_process_at(snapshot, process).pid == profile_process_at(from, id).pid) {
                out[count++] = id;
                break;
            }
        }
    return count;
}

enum err_code embedded_write_memory(struct json *json, const struct report_source *source,
                                    struct err *err)
{
    const struct profile_snapshot *const from =
        source->heat_of ? source->heat_of : source->snapshot;
    struct view_query query = { .from_ns = source->query->from_ns,
                                .to_ns = source->query->to_ns };
    struct memory_slots memory;
    process_id *const chosen = malloc(((size_t)from->sizes.processes + 1) * sizeof *chosen);
    if (!chosen)
        return err_nomem(err);
    query.processes = chosen;
    query.process_count = find_processes(source, from, chosen);
    enum err_code rc = memory_slots_init(&memory, from, &query, EMBEDDED_MEMORY_SLOTS, err);
    free(chosen);
    if (rc)
        return rc;
    if (memory.count > 0) {
        json_member_object(json, "memory");
        memory_write_slots(json, &memory, from);
        json_end(json);
    }
    memory_slots_deinit(&memory);
    return ERR_OK;
}

struct texts {
    const struct report_source *source;
    const struct embedded_bounds *bounds;
    struct hotlines hot;
    struct buffer text, shown;
    struct json *json;
    size_t bytes, count; /* of texts so far */
    bool is_open;
};

/* True if a line with samples is near; `at` goes on through the lines of the file, which
 * ascend. */
static bool is_near(const struct hotlines *hot, const struct hotfile *file, size_t *at,
                    int64_t line)
{
    while (*at < file->line_count &&
           hot->lines[file->first_line + *at].line + EMBEDDED_AROUND_LINES < line)
        ++*at;
    return *at < file->line_count &&
           hot->lines[file->first_line + *at].line - EMBEDDED_AROUND_LINES <= line;
}

static void begin_file(struct texts *texts, struct strtab_string path)
{
    if (!texts->is_open) {
        json_member_array(texts->json, "sources");
    }
    texts->is_open = true;
    json_object(texts->json);
    json_member_string(texts->json, "path", path);
}

static void write_why(struct texts *texts, struct strtab_string path, const char *why)
{
    if (!texts->bounds->is_all)
        return;
    begin_file(texts, path);
    json_member_text(texts->json, "error", why);
    json_end(texts->json);
}

static void write_sources(struct texts *texts)
{
    if (texts->source->settings.no_source || !texts->source->files)
        return;
    for (size_t i = 0; i < texts->hot.file_count && texts->count < texts->bounds->files; i++) {
        const struct hotfile *const file = &texts->hot.files[i];
        const struct strtab_string path = profile_string(texts->source->snapshot, file->file);
        const size_t room = texts->bounds->text_bytes - texts->bytes;
        struct err why = { 0 };
        struct source_state state;
        buffer_clear(&texts->text);
        if (path.length == 0 || path.text[0] != '/')
            continue;
        if (source_read(texts->source->files, texts->source->snapshot,
                        &texts->hot.functions[file->first_function], file->function_count,
                        &texts->text, &state, NULL, &why)) {
            write_why(texts, path, why.message);
            continue;
        }
        const bool whole =
            texts->text.length <= texts->bounds->whole_bytes && texts->text.length <= room;
        if (!whole) {
            /* Lines that are far from samples are empty. */
            const char *line = texts->text.data;
            const char *const end = line + texts->text.length;
            size_t at = 0;
            buffer_clear(&texts->shown);
            for (int64_t number = 1; line < end; number++) {
                const char *const found = memchr(line, '\n', (size_t)(end - line));
                const char *const next = found ? found + 1 : end;
                if (is_near(&texts->hot, file, &at, number))
                    buffer_append(&texts->shown, line, (size_t)(next - line));
                else if (found)
                    buffer_char(&texts->shown, '\n');
                line = next;
            }
        }
        if (whole || texts->shown.length <= room) {
            /* whole: all of the text that there is. */
            const uint64_t began_ns = texts->source->session->status.started_at_ns;
            struct json *const json = texts->json;
            const struct buffer *const text = whole ? &texts->text : &texts->shown;
            begin_file(texts, path);
            json_member_bool(json, "changed", began_ns > 0 && state.changed_ns > began_ns);
            json_member_bool(json, "whole", whole && !state.is_part);
            json_member_buffer(json, "text", text);
            json_end(json);
            texts->bytes += text->length;
            texts->count++;
        } else
            write_why(texts, path, "the report has no room for it");
    }
    if (texts->is_open)
        json_end(texts->json);
}

enum err_code embedded_write_sources(struct json *json, const struct report_source *source,
                                     const struct embedded_bounds *bounds, struct err *err)
{
    struct texts texts = { .source = source, .bounds = bounds, .json = json };
    const bool has_text = !source->settings.no_source && source->files;
    if (bounds->is_all) {
        json_member_bool(json, "holds_all_sources", true);
    }
    if (!has_text && source->snapshot->sizes.spots == 0)
        return ERR_OK;
    enum err_code rc = hotlines_init(&texts.hot, source, err);
    if (rc)
        return rc;
    write_sources(&texts);

    /* The hottest files take what they need of the room there is. */
    const struct hotlines *const hot = &texts.hot;
    const size_t most = texts.bounds->files;
    size_t room = texts.bounds->instructions, rows = 0, files = 0;
    if (hot->spot_count > 0) {
        json_member_array(texts.json, "instructions");
        for (size_t i = 0; i < hot->file_count && files < most && room > 0 && !rc; i++) {
            if (hot->files[i].spot_count == 0)
                continue;
            json_object(texts.json);
            json_member_uint(texts.json, "samples", hot->samples);
            rc = instructions_write(texts.json, texts.source->snapshot, hot, &hot->files[i],
                                    room, &rows, err);
            json_end(texts.json);
            room -= rows;
            files++;
        }
        json_end(texts.json);
    }

    if (!rc)
        rc = buffer_check(&texts.shown, err);
    buffer_deinit(&texts.text);
    buffer_deinit(&texts.shown);
    hotlines_deinit(&texts.hot);
    return rc;
}
