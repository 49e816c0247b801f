/* Of a source file: its text, and the bytecode instructions of its lines. */
#include "server/source/source.h"

#include <string.h>

#include "sampler/base/buffer.h"
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

static void write_source(struct json *json, struct strtab_string path, int32_t line,
                         const struct buffer *text, bool has_changed)
{
    json_object(json);
    json_key(json, "path");
    json_string(json, path.text, path.length);
    json_key(json, "line");
    json_uint(json, line > 0 ? (uint64_t)line : 0);
    json_key(json, "changed");
    json_bool(json, has_changed);
    json_key(json, "text");
    json_string(json, text->length > 0 ? text->data : "", text->length);
    json_end(json);
}

/* The line where the function begins; 0: unknown. */
static int32_t line_of(const struct profile_snapshot *snapshot,
                       const struct profile_function *function,
                       const struct source_place *place, const struct buffer *text)
{
    if (place->line > 0 || function->first_line > 0 || !function->library)
        return place->line > 0 ? place->line : function->first_line;
    return text->length ? def_line_find(profile_string(snapshot, function->file), text->data,
                                        text->length, profile_string(snapshot, function->name))
                        : 0;
}

/* Only files that a function of the session names. */
static enum err_code answer_source(const struct session_request *asked,
                                   struct response *response, struct err *err)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    const function_id function = asked->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    const struct profile_function row = profile_function_at(snapshot, function);
    struct strtab_string path = profile_string(snapshot, row.file);
    struct source_place place;
    struct session_info info;
    struct buffer text = { 0 };
    uint64_t changed_ns = 0;
    struct document document;
    session_describe(asked->session, snapshot, &info);
    const enum err_code rc = source_read(session_files(asked->session), snapshot, &function, 1,
                                         &text, &changed_ns, &place, err);
    if (rc != ERR_OK) {
        buffer_deinit(&text);
        return rc;
    }
    if (*place.path)
        path = (struct strtab_string){ place.path, (uint32_t)strlen(place.path) };
    const uint64_t began_ns = info.status.started_at_ns;
    document_begin(&document);
    write_source(&document.json, path, line_of(snapshot, &row, &place, &text), &text,
                 began_ns > 0 && changed_ns > began_ns);
    buffer_deinit(&text);
    return document_send(&document, response, err);
}

enum err_code api_get_source(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler, QUERY_FUNCTION, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer_source(&asked, response, err);
    session_request_end(&asked);
    return rc;
}

/* Of one file; beyond that the rows with the fewest samples are left out. */
enum { MAX_INSTRUCTIONS = 20000 };

/* The instructions of a file stand side by side. */
static struct hotfile find_file(const struct hotlines *hot,
                                const struct profile_snapshot *snapshot, str_id file)
{
    struct hotfile found = { .file = file };
    for (size_t i = 0; i < hot->spot_count; i++)
        if (hotlines_spot_file(snapshot, hot->spots[i].spot) == file && found.spot_count++ == 0)
            found.first_spot = i;
    return found;
}

static enum err_code write_lines(struct json *json, const struct session_request *asked,
                                 const struct hotlines *hot, str_id file, struct err *err)
{
    const struct hotfile found = find_file(hot, &asked->snapshot, file);
    size_t rows = 0;
    json_object(json);
    json_key(json, "epoch");
    json_text(json, asked->session->epoch);
    json_key(json, "generation");
    json_uint(json, asked->snapshot.generation);
    json_key(json, "samples");
    json_uint(json, hot->samples);
    const enum err_code rc =
        instructions_write(json, &asked->snapshot, hot, &found, MAX_INSTRUCTIONS, &rows, err);
    json_end(json);
    return rc;
}

/* Of hotlines, only the instructions and the number of samples. */
static enum err_code find_instructions(const struct session_request *asked,
                                       struct hotlines *hot, struct err *err)
{
    const struct report_source source = { .snapshot = &asked->snapshot,
                                          .query = &asked->query.view };
    struct view view;
    enum err_code rc = view_init(&view, &asked->snapshot, &asked->query.view, err);
    if (rc != ERR_OK)
        return rc;
    hot->samples = view.total;
    view_deinit(&view);
    return hotlines_find_spots(hot, &source, err);
}

static enum err_code answer_lines(const struct session_request *asked,
                                  struct response *response, struct err *err)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    const function_id function = asked->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    const str_id file = profile_function_at(snapshot, function).file;
    struct hotlines hot = { 0 };
    struct document document;
    enum err_code rc = find_instructions(asked, &hot, err);
    document_begin(&document);
    if (rc == ERR_OK)
        rc = write_lines(&document.json, asked, &hot, file, err);
    hotlines_deinit(&hot);
    return document_send_or_drop(&document, rc, response, err);
}

enum err_code api_get_lines(const struct handler_context *handler, struct response *response,
                            struct err *err)
{
    return session_request_answer(handler, QUERY_FUNCTION | QUERY_FROM | QUERY_TO, answer_lines,
                                  response, err);
}
