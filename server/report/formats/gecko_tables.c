#include "server/report/formats/gecko_tables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "server/report/formats/gecko_rows.h"
#include "server/report/names.h"
#include "server/wire/json.h"

enum { BREAKPAD_BYTES = 16 };

struct tables {
    const struct profile_snapshot *snapshot;
    struct json *json;
    uint32_t *source_of; /* by string: its row in the table of sources, + 1 */
    uint32_t source_count;
};

static void put_line(struct tables *tables, int32_t line)
{
    if (line > 0)
        json_int(tables->json, line);
    else
        json_null(tables->json);
}

/* A column of a table: a value for each row from `first` on. */
static void put_column(struct tables *tables, const char *key, uint32_t first, uint32_t end,
                       void (*put)(struct tables *tables, uint32_t row))
{
    json_member_array(tables->json, key);
    for (uint32_t row = first; row < end; row++)
        put(tables, row);
    json_end(tables->json);
}

static void put_null(struct tables *tables, uint32_t row)
{
    (void)row;
    json_null(tables->json);
}

static void put_zero(struct tables *tables, uint32_t row)
{
    (void)row;
    json_uint(tables->json, 0);
}

static void put_one(struct tables *tables, uint32_t row)
{
    (void)row;
    json_uint(tables->json, 1);
}

static void put_none(struct tables *tables, uint32_t row)
{
    (void)row;
    json_int(tables->json, -1);
}

static void put_false(struct tables *tables, uint32_t row)
{
    (void)row;
    json_bool(tables->json, false);
}

/* Rows of our tables count from the root's, which is in none of theirs: ours are one more. */
static void put_node_frame(struct tables *tables, uint32_t node)
{
    json_uint(tables->json, profile_node_at(tables->snapshot, node).frame - 1);
}

static void put_node_prefix(struct tables *tables, uint32_t node)
{
    const node_id parent = profile_node_at(tables->snapshot, node).parent;
    if (parent == 0)
        json_null(tables->json);
    else
        json_uint(tables->json, parent - 1);
}

static bool begins_with(struct strtab_string text, const char *with)
{
    const size_t length = strlen(with);
    return text.length >= length && memcmp(text.text, with, length) == 0;
}

static enum gecko_category category_of(struct tables *tables, uint32_t id)
{
    const struct named_frame frame = names_frame(tables->snapshot, id);
    if (frame.is_native)
        return GECKO_CATEGORY_NATIVE;
    if (!frame.is_synthetic)
        return GECKO_CATEGORY_PYTHON;
    if (begins_with(frame.name, "<native>"))
        return GECKO_CATEGORY_NATIVE;
    return begins_with(frame.name, "<GC>") ? GECKO_CATEGORY_GC : GECKO_CATEGORY_OTHER;
}

static void put_frame_category(struct tables *tables, uint32_t frame)
{
    json_uint(tables->json, category_of(tables, frame));
}

static void put_frame_func(struct tables *tables, uint32_t frame)
{
    json_uint(tables->json, profile_frame_at(tables->snapshot, frame).function - 1);
}

static void put_frame_line(struct tables *tables, uint32_t frame)
{
    put_line(tables, profile_frame_at(tables->snapshot, frame).line);
}

static void put_func_name(struct tables *tables, uint32_t function)
{
    json_uint(tables->json, profile_function_at(tables->snapshot, function).name);
}

static void put_func_line(struct tables *tables, uint32_t function)
{
    put_line(tables, profile_function_at(tables->snapshot, function).first_line);
}

static void put_func_source(struct tables *tables, uint32_t function)
{
    const uint32_t row =
        tables->source_of[profile_function_at(tables->snapshot, function).file];
    if (row == 0)
        json_null(tables->json);
    else
        json_uint(tables->json, row - 1);
}

/* Libraries and resources are in one order. */
static void put_func_resource(struct tables *tables, uint32_t function)
{
    json_int(tables->json,
             (int64_t)profile_function_at(tables->snapshot, function).library - 1);
}

static void put_resource_lib(struct tables *tables, uint32_t library)
{
    json_uint(tables->json, library - 1);
}

static void put_resource_name(struct tables *tables, uint32_t library)
{
    json_uint(tables->json, profile_library_at(tables->snapshot, library).path);
}

static void put_source_name(struct tables *tables, uint32_t string)
{
    if (tables->source_of[string] > 0)
        json_uint(tables->json, string);
}

static uint32_t less_one(uint32_t count)
{
    return count > 0 ? count - 1 : 0;
}

static void put_shared(struct tables *tables)
{
    static const char *const symbols[] = { "libIndex", "address", "name", "functionSize" };
    json_object(tables->json);

    const uint32_t nodes = tables->snapshot->sizes.nodes;
    json_member_object(tables->json, "stackTable");
    put_column(tables, "frame", 1, nodes, put_node_frame);
    put_column(tables, "prefix", 1, nodes, put_node_prefix);
    json_member_uint(tables->json, "length", less_one(nodes));
    json_end(tables->json);

    const uint32_t frames = tables->snapshot->sizes.frames;
    json_member_object(tables->json, "frameTable");
    put_column(tables, "address", 1, frames, put_none);
    put_column(tables, "inlineDepth", 1, frames, put_zero);
    put_column(tables, "category", 1, frames, put_frame_category);
    put_column(tables, "subcategory", 1, frames, put_zero);
    put_column(tables, "func", 1, frames, put_frame_func);
    put_column(tables, "nativeSymbol", 1, frames, put_null);
    put_column(tables, "innerWindowID", 1, frames, put_null);
    put_column(tables, "line", 1, frames, put_frame_line);
    put_column(tables, "column", 1, frames, put_null);
    json_member_uint(tables->json, "length", less_one(frames));
    json_end(tables->json);

    const uint32_t functions = tables->snapshot->sizes.functions;
    json_member_object(tables->json, "funcTable");
    put_column(tables, "name", 1, functions, put_func_name);
    put_column(tables, "isJS", 1, functions, put_false);
    put_column(tables, "relevantForJS", 1, functions, put_false);
    put_column(tables, "resource", 1, functions, put_func_resource);
    put_column(tables, "source", 1, functions, put_func_source);
    put_column(tables, "lineNumber", 1, functions, put_func_line);
    put_column(tables, "columnNumber", 1, functions, put_null);
    json_member_uint(tables->json, "length", less_one(functions));
    json_end(tables->json);

    const uint32_t libraries = tables->snapshot->sizes.libraries;
    json_member_object(tables->json, "resourceTable");
    put_column(tables, "lib", 1, libraries, put_resource_lib);
    put_column(tables, "name", 1, libraries, put_resource_name);
    put_column(tables, "host", 1, libraries, put_null);
    put_column(tables, "type", 1, libraries, put_one); /* a library */
    json_member_uint(tables->json, "length", less_one(libraries));
    json_end(tables->json);

    /* A symbol has an address, which functions of a profile do not have. */
    json_member_object(tables->json, "nativeSymbols");
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        json_member_array(tables->json, symbols[i]);
        json_end(tables->json);
    }
    json_member_uint(tables->json, "length", 0);
    json_end(tables->json);

    json_member_object(tables->json, "sources");
    put_column(tables, "id", 0, tables->source_count, put_null);
    put_column(tables, "filename", 0, tables->snapshot->sizes.strings, put_source_name);
    put_column(tables, "startLine", 0, tables->source_count, put_one);
    put_column(tables, "startColumn", 0, tables->source_count, put_one);
    put_column(tables, "sourceMapURL", 0, tables->source_count, put_null);
    json_member_uint(tables->json, "length", tables->source_count);
    json_end(tables->json);

    /* The profile's strings, then the names of markers. */
    json_member_array(tables->json, "stringArray");
    for (str_id id = 0; id < tables->snapshot->sizes.strings; id++) {
        const struct strtab_string string = profile_string(tables->snapshot, id);
        json_string(tables->json, string.text, string.length);
    }
    for (enum gecko_marker_name name = 0; name < GECKO_MARKER_COUNT; name++)
        json_text(tables->json, gecko_marker_text(name));
    json_end(tables->json);
    json_end(tables->json);
}

void gecko_put_libs(struct json *json, const struct profile_snapshot *snapshot)
{
    json_array(json);
    for (library_id id = 1; id < snapshot->sizes.libraries; id++) {
        const struct profile_library library = profile_library_at(snapshot, id);
        const struct strtab_string path = profile_string(snapshot, library.path);
        const struct strtab_string build_id = profile_string(snapshot, library.build_id);
        json_object(json);
        json_member_text(json, "arch", "");
        json_member_string(json, "name", names_base(path));
        json_member_string(json, "path", path);
        json_member_string(json, "debugName", names_base(path));
        json_member_string(json, "debugPath", path);

        /* The first 16 bytes of a build id as breakpad orders those of a GUID, and the age 0. */
        static const unsigned char order[BREAKPAD_BYTES] = { 3, 2, 1,  0,  5,  4,  7,  6,
                                                             8, 9, 10, 11, 12, 13, 14, 15 };
        char text[2 * BREAKPAD_BYTES + 2] = "";
        if (build_id.length >= 2 * BREAKPAD_BYTES) {
            for (size_t i = 0; i < BREAKPAD_BYTES; i++)
                for (size_t j = 0; j < 2; j++)
                    text[2 * i + j] =
                        (char)toupper((unsigned char)build_id.text[2 * (size_t)order[i] + j]);
            text[2 * BREAKPAD_BYTES] = '0';
        }
        json_member_text(json, "breakpadId", text);

        json_member_string(json, "codeId", build_id);
        json_end(json);
    }
    json_end(json);
}

enum err_code gecko_put_shared(struct json *json, const struct profile_snapshot *snapshot,
                               struct err *err)
{
    struct tables tables = { .snapshot = snapshot, .json = json };

    /* Files get rows in the order of their strings. */
    const struct profile_sizes *const sizes = &tables.snapshot->sizes;
    tables.source_of = calloc((size_t)sizes->strings + 1, sizeof *tables.source_of);
    if (!tables.source_of)
        return err_nomem(err);
    for (function_id id = 1; id < sizes->functions; id++)
        if (!names_function(tables.snapshot, id).is_synthetic)
            tables.source_of[profile_function_at(tables.snapshot, id).file] = 1;
    for (str_id id = 0; id < sizes->strings; id++)
        if (tables.source_of[id])
            tables.source_of[id] = ++tables.source_count;
    put_shared(&tables);
    free(tables.source_of);
    return ERR_OK;
}
