/* A source file: its text, and the bytecode instructions of its lines. */
#include "server/source/source.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/scoped.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"
#include "server/api/api.h"
#include "server/api/session_request.h"
#include "server/http/document.h"
#include "server/report/hotlines.h"
#include "server/report/instructions.h"
#include "server/report/report.h"
#include "server/sessions/sessions.h"
#include "server/source/def_line.h"

/* The most function starts of one file; the lines of further functions stay unknown. */
enum { MAX_STARTS = 1 << 14 };

static void write_starts(struct json *json, const struct def_line *items, size_t count)
{
    json_member_object(json, "starts");
    json_member_array(json, "function");
    for (size_t i = 0; i < count; i++)
        if (items[i].line > 0)
            json_uint(json, items[i].id);
    json_end(json);
    json_member_array(json, "line");
    for (size_t i = 0; i < count; i++)
        if (items[i].line > 0)
            json_uint(json, (uint64_t)items[i].line);
    json_end(json);
    json_end(json);
}

/* Adds the starts of functions that the profile has no line of. */
static enum err_code add_starts(struct json *json, const struct profile_snapshot *snapshot,
                                function_id function, const struct source_place *place,
                                const struct buffer *text, struct err *err)
{
    const str_id file = profile_function_at(snapshot, function).file;
    struct def_line located = { .id = function, .line = place->line };
    if (*place->path) {
        write_starts(json, &located, 1);
        return ERR_OK;
    }
    SCOPED_FREE struct def_line *items = calloc(MAX_STARTS, sizeof *items);
    if (!items)
        return err_nomem(err);

    /* Functions of native code whose source is the file, and whose lines the profile does not know.
     * */
    size_t count = 0;
    for (function_id id = 0; id < snapshot->sizes.functions && count < MAX_STARTS; id++) {
        const struct profile_function row = profile_function_at(snapshot, id);
        if (row.file == file && row.library && row.first_line == 0)
            items[count++] =
                (struct def_line){ .name = profile_string(snapshot, row.name), .id = id };
    }

    if (text->length)
        def_line_find(profile_string(snapshot, file), text->data, text->length, items, count);
    write_starts(json, items, count);
    return ERR_OK;
}

/* Only files that a function of the session names. */
static enum err_code answer_source(const struct session_request *asked,
                                   struct response *response, struct err *err)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    const function_id function = asked->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    struct strtab_string path =
        profile_string(snapshot, profile_function_at(snapshot, function).file);
    struct source_place place;
    struct session_info info;
    struct buffer text = { 0 };
    struct source_state state;
    struct document document;
    session_entry_describe(asked->entry, snapshot, &info);
    enum err_code rc = source_read(session_entry_files(asked->entry), snapshot, &function, 1,
                                   &text, &state, &place, err);
    if (rc) {
        buffer_deinit(&text);
        return rc;
    }
    if (*place.path)
        path = (struct strtab_string){ place.path, (uint32_t)strlen(place.path) };
    document_begin(&document);

    /* The object stays open. */
    const uint64_t began_ns = info.status.started_at_ns;
    json_object(&document.json);
    json_member_string(&document.json, "path", path);
    json_member_bool(&document.json, "changed", began_ns > 0 && state.changed_ns > began_ns);
    json_member_bool(&document.json, "whole", !state.is_part);
    json_member_buffer(&document.json, "text", &text);

    rc = add_starts(&document.json, snapshot, function, &place, &text, err);
    json_end(&document.json);
    buffer_deinit(&text);
    return document_send_or_drop(&document, rc, response, err);
}

enum err_code api_get_source(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler, QUERY_FUNCTION, err);
    if (rc)
        return rc;
    rc = answer_source(&asked, response, err);
    session_request_end(&asked);
    return rc;
}

/* The most instructions of one file; beyond that the rows with the fewest samples are left
 * out. */
enum { MAX_INSTRUCTIONS = 20000 };

static enum err_code write_lines(const struct session_request *asked, struct json *json,
                                 struct err *err)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    const function_id function = asked->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    struct hotlines hot = { 0 };
    size_t rows = 0;

    /* The instructions and the number of samples are all that is needed. */
    const struct report_source source = { .snapshot = &asked->snapshot,
                                          .query = &asked->query.view };
    struct view view;
    enum err_code rc = view_init(&view, &asked->snapshot, &asked->query.view, err);
    if (rc)
        return rc;
    hot.samples = view.total;
    view_deinit(&view);
    rc = hotlines_find_spots(&hot, &source, err);

    if (!rc) {
        /* The instructions of a file stand side by side. */
        struct hotfile found = { .file = profile_function_at(snapshot, function).file };
        for (size_t i = 0; i < hot.spot_count; i++)
            if (hotlines_spot_file(snapshot, hot.spots[i].spot) ==
                    profile_function_at(snapshot, function).file &&
                found.spot_count++ == 0)
                found.first_spot = i;

        json_member_uint(json, "samples", hot.samples);
        rc = instructions_write(json, snapshot, &hot, &found, MAX_INSTRUCTIONS, &rows, err);
    }
    hotlines_deinit(&hot);
    return rc;
}

enum err_code api_get_lines(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, QUERY_FUNCTION | QUERY_FROM | QUERY_TO, write_lines,
                                  response, err);
}
