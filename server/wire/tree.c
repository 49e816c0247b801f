#include "server/wire/tree.h"

#include <stddef.h>

#include "sampler/profile/packages.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/own_code.h"
#include "server/wire/json.h"
#include "server/wire/kept_rows.h"
#include "server/wire/own_code.h"

typedef const struct profile_snapshot *snapshot_ref;

struct column {
    const char *name;
    int64_t (*value)(snapshot_ref snapshot, uint32_t id);
};

static int64_t function_name(snapshot_ref snapshot, uint32_t id)
{
    return profile_function_at(snapshot, id).name;
}

static int64_t function_file(snapshot_ref snapshot, uint32_t id)
{
    return profile_function_at(snapshot, id).file;
}

static int64_t function_line(snapshot_ref snapshot, uint32_t id)
{
    return profile_function_at(snapshot, id).first_line;
}

static int64_t function_library(snapshot_ref snapshot, uint32_t id)
{
    return profile_function_at(snapshot, id).library;
}

static int64_t library_path(snapshot_ref snapshot, uint32_t id)
{
    return profile_library_at(snapshot, id).path;
}

static int64_t library_build_id(snapshot_ref snapshot, uint32_t id)
{
    return profile_library_at(snapshot, id).build_id;
}

static int64_t library_is_interpreter(snapshot_ref snapshot, uint32_t id)
{
    return (profile_library_at(snapshot, id).flags & PROFILE_LIBRARY_INTERPRETER) != 0;
}

static int64_t library_is_kernel(snapshot_ref snapshot, uint32_t id)
{
    return (profile_library_at(snapshot, id).flags & PROFILE_LIBRARY_KERNEL) != 0;
}

static int64_t node_parent(snapshot_ref snapshot, uint32_t id)
{
    return profile_node_at(snapshot, id).parent;
}

static int64_t node_function(snapshot_ref snapshot, uint32_t id)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, id).frame).function;
}

static int64_t node_line(snapshot_ref snapshot, uint32_t id)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, id).frame).line;
}

static int64_t thread_process(snapshot_ref snapshot, uint32_t id)
{
    return profile_thread_at(snapshot, id).process;
}

static int64_t thread_tid(snapshot_ref snapshot, uint32_t id)
{
    return profile_thread_at(snapshot, id).tid;
}

static int64_t thread_name(snapshot_ref snapshot, uint32_t id)
{
    return profile_thread_at(snapshot, id).name;
}

static int64_t thread_main(snapshot_ref snapshot, uint32_t id)
{
    return profile_thread_at(snapshot, id).is_main;
}

static int64_t process_pid(snapshot_ref snapshot, uint32_t id)
{
    return profile_process_at(snapshot, id).pid;
}

static int64_t process_name(snapshot_ref snapshot, uint32_t id)
{
    return profile_process_at(snapshot, id).name;
}

/* Each ends at the column without a name. */
static const struct column library_columns[] = { { "path", library_path },
                                                 { "build_id", library_build_id },
                                                 { "interpreter", library_is_interpreter },
                                                 { "kernel", library_is_kernel },
                                                 { NULL, NULL } };
static const struct column function_columns[] = { { "name", function_name },
                                                  { "file", function_file },
                                                  { "line", function_line },
                                                  { "library", function_library },
                                                  { NULL, NULL } };
static const struct column node_columns[] = { { "parent", node_parent },
                                              { "function", node_function },
                                              { "line", node_line },
                                              { NULL, NULL } };
static const struct column thread_columns[] = { { "process", thread_process },
                                                { "tid", thread_tid },
                                                { "name", thread_name },
                                                { "main", thread_main },
                                                { NULL, NULL } };
static const struct column process_columns[] = { { "pid", process_pid },
                                                 { "name", process_name },
                                                 { NULL, NULL } };

static void begin_table(struct json *json, const char *name, uint32_t first)
{
    json_member_object(json, name);
    json_member_uint(json, "first", first);
}

/* Rows first to end.  is_kept: by row; NULL: all are. */
static void write_table(struct json *json, snapshot_ref snapshot, const char *name,
                        const struct column *columns, uint32_t first, uint32_t end,
                        const bool *is_kept)
{
    begin_table(json, name, first);
    for (const struct column *column = columns; column->name; column++) {
        json_member_array(json, column->name);
        for (uint32_t id = first; id < end; id++)
            json_int(json, !is_kept || is_kept[id] ? column->value(snapshot, id) : 0);
        json_end(json);
    }
    json_end(json);
}

void tree_write_tables(struct json *json, const struct profile_snapshot *snapshot,
                       uint32_t since, const struct kept_rows *kept)
{
    static const struct kept_rows all = { .snapshot = NULL };
    const struct kept_rows *const rows = kept ? kept : &all;
    const struct profile_sizes from = profile_snapshot_sizes_at(snapshot, since);
    const struct profile_sizes to = snapshot->sizes;
    json_member_uint(json, "since", since);

    /* Packages of files, as metadata have them. */
    const struct packages *const packages = profile_packages(snapshot->profile);
    const uint32_t count = packages_count(packages);
    if (since == 0 && count > 0) {
        json_member_object(json, "packages");
        for (uint32_t i = 0; i < count; i++)
            if (!kept || kept->packages[i])
                json_member_text(json, packages->rows[i].path, packages->rows[i].package);
        json_end(json);
    }

    struct own_code own;
    if (!own_code_find(snapshot, &own, NULL, NULL)) {
        json_member_array(json, "own_code");
        for (size_t i = 0; i < own.count; i++) {
            if (kept)
                kept_rows_cut_packages(kept, &own.levels[i]);
            own_code_write(json, &own.levels[i]);
        }
        json_end(json);
    }

    begin_table(json, "strings", from.strings);
    json_member_array(json, "values");
    for (uint32_t id = from.strings; id < to.strings; id++) {
        const struct strtab_string string = profile_string(snapshot, id);
        json_string(json, string.text, !rows->strings || rows->strings[id] ? string.length : 0);
    }
    json_end(json);
    json_end(json);

    write_table(json, snapshot, "libraries", library_columns, from.libraries, to.libraries,
                rows->libraries);
    write_table(json, snapshot, "functions", function_columns, from.functions, to.functions,
                rows->functions);
    write_table(json, snapshot, "nodes", node_columns, from.nodes, to.nodes, rows->nodes);
    write_table(json, snapshot, "threads", thread_columns, from.threads, to.threads,
                rows->threads);
    write_table(json, snapshot, "processes", process_columns, from.processes, to.processes,
                rows->processes);
}

void tree_write(struct json *json, const struct profile_snapshot *snapshot, const char *epoch,
                uint32_t since, const struct kept_rows *kept)
{
    json_object(json);
    json_member_text(json, "epoch", epoch);
    json_member_uint(json, "generation", snapshot->generation);
    tree_write_tables(json, snapshot, since, kept);
    json_end(json);
}
