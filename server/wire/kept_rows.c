#include "server/wire/kept_rows.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/code_origin.h"
#include "sampler/profile/views/own_code.h"

enum err_code kept_rows_init(struct kept_rows *rows, const struct profile_snapshot *snapshot,
                             struct err *err)
{
    const struct profile_sizes *const sizes = &snapshot->sizes;
    *rows = (struct kept_rows){
        .snapshot = snapshot,
        .strings = calloc((size_t)sizes->strings + 1, sizeof(bool)),
        .libraries = calloc((size_t)sizes->libraries + 1, sizeof(bool)),
        .functions = calloc((size_t)sizes->functions + 1, sizeof(bool)),
        .nodes = calloc((size_t)sizes->nodes + 1, sizeof(bool)),
        .threads = calloc((size_t)sizes->threads + 1, sizeof(bool)),
        .processes = calloc((size_t)sizes->processes + 1, sizeof(bool)),
    };
    if (rows->strings && rows->libraries && rows->functions && rows->nodes && rows->threads &&
        rows->processes)
        return ERR_OK;
    kept_rows_deinit(rows);
    return err_nomem(err);
}

void kept_rows_deinit(struct kept_rows *rows)
{
    free(rows->strings);
    free(rows->libraries);
    free(rows->functions);
    free(rows->nodes);
    free(rows->threads);
    free(rows->processes);
    *rows = (struct kept_rows){ .snapshot = NULL };
}

void kept_rows_process(struct kept_rows *rows, process_id process)
{
    rows->processes[process] = true;
    rows->strings[profile_process_at(rows->snapshot, process).name] = true;
}

static void keep_function(struct kept_rows *rows, function_id id)
{
    const struct packages *const packages = profile_packages(rows->snapshot->profile);
    const struct profile_function row = profile_function_at(rows->snapshot, id);
    if (rows->functions[id])
        return;
    rows->functions[id] = true;
    rows->strings[row.name] = rows->strings[row.file] = true;
    const struct packages_row *const package =
        packages_row_of(packages, profile_string(rows->snapshot, row.file).text);
    if (package)
        rows->packages[package - packages->rows] = true;
    if (row.library == 0)
        return;
    const struct profile_library library = profile_library_at(rows->snapshot, row.library);
    rows->libraries[row.library] = true;
    rows->strings[library.path] = rows->strings[library.build_id] = true;
}

void kept_rows_cell(struct kept_rows *rows, thread_id thread, node_id node)
{
    if (!rows->threads[thread]) {
        const struct profile_thread row = profile_thread_at(rows->snapshot, thread);
        rows->threads[thread] = true;
        rows->strings[row.name] = true;
        kept_rows_process(rows, row.process);
    }
    while (!rows->nodes[node]) {
        const struct profile_node row = profile_node_at(rows->snapshot, node);
        rows->nodes[node] = true;
        keep_function(rows, profile_frame_at(rows->snapshot, row.frame).function);
        node = row.parent;
    }
}

void kept_rows_cut_packages(const struct kept_rows *rows, struct own_code_level *level)
{
    const struct profile_snapshot *const snapshot = rows->snapshot;
    const struct packages *const packages = profile_packages(snapshot->profile);
    bool is_kept[OWN_CODE_MAX_PACKAGES] = { false };
    size_t kept = 0;
    for (function_id id = 0; id < snapshot->sizes.functions && level->package_count > 0; id++) {
        if (!rows->functions[id])
            continue;
        const struct profile_function row = profile_function_at(snapshot, id);
        const struct profile_library library = profile_library_at(snapshot, row.library);
        const struct code_origin origin =
            code_origin_of(packages, profile_string(snapshot, row.name).text,
                           profile_string(snapshot, row.file).text,
                           row.library ? profile_string(snapshot, library.path).text : NULL);
        for (size_t i = 0; i < level->package_count; i++)
            is_kept[i] |= level->packages[i].length == origin.length &&
                          memcmp(level->packages[i].name, origin.name, origin.length) == 0;
    }
    for (size_t i = 0; i < level->package_count; i++)
        if (is_kept[i])
            level->packages[kept++] = level->packages[i];
    level->package_count = kept;
}
