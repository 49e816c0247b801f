#include "sampler/profile/views/reshape_rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/packages.h"

static const uint32_t NONE = UINT32_MAX;

static uint32_t *make_map(uint32_t rows)
{
    uint32_t *const map = malloc(((size_t)rows + 1) * sizeof *map);
    if (map)
        memset(map, 0xff, ((size_t)rows + 1) * sizeof *map);
    return map;
}

enum err_code reshape_rows_init(struct reshape_rows *rows, struct err *err)
{
    const struct profile_sizes *const sizes = &rows->from->sizes;
    rows->libraries = make_map(sizes->libraries);
    rows->library_paths = make_map(sizes->libraries);
    rows->functions = make_map(sizes->functions);
    rows->frames = make_map(sizes->frames);
    rows->threads = make_map(sizes->threads);
    return rows->libraries && rows->library_paths && rows->functions && rows->frames &&
                   rows->threads
               ? ERR_OK
               : err_nomem(err);
}

void reshape_rows_deinit(struct reshape_rows *rows)
{
    free(rows->libraries);
    free(rows->library_paths);
    free(rows->functions);
    free(rows->frames);
    free(rows->threads);
}

enum err_code reshape_rows_string(const struct reshape_rows *rows, str_id id, str_id *out,
                                  struct err *err)
{
    const struct strtab_string string = profile_string(rows->from, id);
    return strtab_intern(profile_strings(rows->into), string.text, string.length, out, err);
}

/* Copies a name, replaced if names are; file: that of a function. */
static enum err_code copy_name(const struct reshape_rows *rows, enum reshape_text what,
                               str_id id, str_id file, str_id *out, struct err *err)
{
    const struct reshape_names *const names = rows->names;
    if (!names)
        return reshape_rows_string(rows, id, out, err);
    const struct strtab_string string = names->text(
        names->context, what, profile_string(rows->from, id), profile_string(rows->from, file));
    return strtab_intern(profile_strings(rows->into), string.text, string.length, out, err);
}

/* Copies what is known of the package of a file, unless names are replaced. A package that
 * finds no room is left out. */
static void copy_package(const struct reshape_rows *rows, str_id file)
{
    const struct packages *const packages = profile_packages(rows->from->profile);
    const struct packages_row *const row =
        rows->names ? NULL : packages_row_of(packages, profile_string(rows->from, file).text);
    if (row)
        (void)!packages_add(profile_packages(rows->into), row->path, row->package, NULL);
}

static enum err_code copy_library(struct reshape_rows *rows, library_id id, library_id *out,
                                  struct err *err)
{
    struct profile_library row = profile_library_at(rows->from, id);
    const str_id path = row.path;
    enum err_code rc = ERR_OK;
    if (id == 0)
        rows->libraries[id] = 0;
    if (rows->libraries[id] == NONE) {
        rc = copy_name(rows, RESHAPE_LIBRARY, path, path, &row.path, err);
        if (!rc)
            rc = copy_name(rows, RESHAPE_BUILD_ID, row.build_id, path, &row.build_id, err);
        rows->library_paths[id] = row.path;
        copy_package(rows, path);
        if (!rc)
            rc = profile_library(rows->into, &row, &rows->libraries[id], err);
    }
    *out = rows->libraries[id];
    return rc;
}

enum err_code reshape_rows_function(struct reshape_rows *rows, function_id id, function_id *out,
                                    struct err *err)
{
    struct profile_function row = profile_function_at(rows->from, id);
    enum err_code rc = ERR_OK;
    if (rows->functions[id] == NONE) {
        copy_package(rows, row.file);

        const bool is_native = row.library != 0;
        const str_id by =
            is_native ? profile_library_at(rows->from, row.library).path : row.file;
        rc = copy_name(rows, is_native ? RESHAPE_NATIVE_NAME : RESHAPE_NAME, row.name, by,
                       &row.name, err);
        if (!rc)
            rc = copy_name(rows, is_native ? RESHAPE_NATIVE_FILE : RESHAPE_FILE, row.file, by,
                           &row.file, err);
        if (!rc)
            rc = copy_library(rows, row.library, &row.library, err);

        struct strtab_string file;
        int32_t line;
        if (!rc && rows->places &&
            rows->places->place(rows->places->context, id, &file, &line)) {
            row.first_line = line;
            rc = strtab_intern(profile_strings(rows->into), file.text, file.length, &row.file,
                               err);
        }
        if (!rc)
            rc = profile_function_row(rows->into, &row, &rows->functions[id], err);
        if (!rc) {
            const profile_origin before = profile_origin_of(rows->into, rows->functions[id]);
            profile_set_origin(rows->into, rows->functions[id],
                               before == PROFILE_ORIGIN_NONE || before == row.origin
                                   ? row.origin
                                   : PROFILE_ORIGIN_SEVERAL);
        }
        if (!rc && row.entry)
            profile_set_entry(rows->into, rows->functions[id], row.entry);
    }
    *out = rows->functions[id];
    return rc;
}

enum err_code reshape_rows_frame(struct reshape_rows *rows, frame_id id, frame_id *out,
                                 struct err *err)
{
    const struct profile_frame row = profile_frame_at(rows->from, id);
    function_id function;
    enum err_code rc = ERR_OK;
    if (rows->frames[id] == NONE) {
        rc = reshape_rows_function(rows, row.function, &function, err);
        if (!rc)
            rc = profile_frame(rows->into, function, row.line, &rows->frames[id], err);
    }
    *out = rows->frames[id];
    return rc;
}

enum err_code reshape_rows_library_frame(struct reshape_rows *rows, library_id library,
                                         library_id *library_out, frame_id *out,
                                         struct err *err)
{
    struct profile_function row = { 0 };
    enum err_code rc = copy_library(rows, library, &row.library, err);
    if (rc)
        return rc;
    row.file = rows->library_paths[library];
    const struct strtab_string path = strtab_get(profile_strings(rows->into), row.file);
    const char *const slash = strrchr(path.text, '/');
    const char *const name = slash ? slash + 1 : path.text;
    function_id function;
    *library_out = row.library;
    rc = strtab_intern(profile_strings(rows->into), name,
                       path.length - (size_t)(name - path.text), &row.name, err);
    if (!rc)
        rc = profile_function_row(rows->into, &row, &function, err);
    return rc ? rc : profile_frame(rows->into, function, 0, out, err);
}

static enum err_code copy_process(struct reshape_rows *rows, process_id id, process_id *out,
                                  struct err *err)
{
    struct profile_process row = profile_process_at(rows->from, id);
    const enum err_code rc = copy_name(rows, RESHAPE_PROCESS, row.name, 0, &row.name, err);
    return rc ? rc : profile_process(rows->into, row.pid, row.name, out, err);
}

enum err_code reshape_rows_thread(struct reshape_rows *rows, thread_id id, thread_id *out,
                                  struct err *err)
{
    struct profile_thread row = profile_thread_at(rows->from, id);
    enum err_code rc = ERR_OK;
    if (rows->threads[id] == NONE) {
        rc = copy_process(rows, row.process, &row.process, err);
        if (!rc)
            rc = copy_name(rows, RESHAPE_THREAD, row.name, 0, &row.name, err);
        if (!rc)
            rc = profile_thread(rows->into, &row, &rows->threads[id], err);
    }
    *out = rows->threads[id];
    return rc;
}
