#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/profile_parts.h"
#include "sampler/profile/window.h"

enum err_code profile_snapshot_measured(struct profile *profile, enum measure measure,
                                        struct profile_snapshot *out, struct err *err)
{
    const enum err_code rc = publication_copy(&profile->published, measure, out, err);
    if (rc)
        return rc;
    out->profile = profile;
    out->memory_bytes = profile->memory_bytes;
    return ERR_OK;
}

enum err_code profile_snapshot(struct profile *profile, struct profile_snapshot *out,
                               struct err *err)
{
    return profile_snapshot_measured(profile, MEASURE_TIME, out, err);
}

enum err_code profile_snapshot_beside(const struct profile_snapshot *from, enum measure measure,
                                      struct profile_snapshot *out, struct err *err)
{
    const enum err_code rc = profile_snapshot_measured(from->profile, measure, out, err);
    if (rc)
        return rc;
    while (out->window_count &&
           out->windows[out->window_count - 1]->generation > from->generation)
        window_unref(out->windows[--out->window_count]);
    out->generation = from->generation;
    out->sizes = from->sizes;
    out->end_ns = from->end_ns;
    return ERR_OK;
}

void profile_snapshot_count_as(struct profile_snapshot *copy,
                               const struct profile_snapshot *from)
{
    struct profile *const to = copy->profile;
    copy->measure = from->measure;
    copy->measures = from->measures;
    copy->beside = from->beside;
    memcpy(copy->sums, from->sums, sizeof copy->sums);
    if (!to || to == from->profile)
        return;
    for (uint32_t i = to->foreign_count; i < from->profile->foreign_count; i++) {
        enum measure same;
        const struct foreign_measure *const row = &from->profile->foreign[i];
        (void)!profile_foreign_measure(to, row->type, row->unit, &same, NULL);
    }
}

void profile_snapshot_release(struct profile_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->window_count; i++)
        window_unref(snapshot->windows[i]);
    free(snapshot->windows);
    memset(snapshot, 0, sizeof *snapshot);
}

struct packages *profile_packages(struct profile *profile)
{
    return &profile->packages;
}

/* The number of windows that were complete at a generation. */
static size_t windows_until(const struct profile_snapshot *snapshot, uint32_t generation)
{
    size_t at;
    LOWER_BOUND(at, snapshot->window_count, snapshot->windows[at]->generation <= generation);
    return at;
}

struct profile_sizes profile_snapshot_sizes_at(const struct profile_snapshot *snapshot,
                                               uint32_t generation)
{
    const size_t count = windows_until(snapshot, generation);
    return count ? snapshot->windows[count - 1]->sizes : (struct profile_sizes){ 0 };
}

uint32_t profile_snapshot_since(const struct profile_snapshot *snapshot, uint32_t generation)
{
    const size_t next = windows_until(snapshot, generation);
    if (generation > snapshot->generation)
        return 0;
    if (next < snapshot->window_count &&
        snapshot->windows[next]->first_generation <= generation)
        return 0;
    return generation;
}

struct strtab_string profile_string(const struct profile_snapshot *snapshot, str_id id)
{
    return strtab_get(&snapshot->profile->tables.strings, id);
}

struct profile_library profile_library_at(const struct profile_snapshot *snapshot,
                                          library_id id)
{
    return *(const struct profile_library *)table_at(&snapshot->profile->tables.libraries, id);
}

struct profile_function profile_function_at(const struct profile_snapshot *snapshot,
                                            function_id id)
{
    const struct profile *const profile = snapshot->profile;
    const struct profile_function *const row = table_at(&profile->tables.functions, id);
    return (struct profile_function){ .name = row->name,
                                      .file = row->file,
                                      .first_line = row->first_line,
                                      .library = row->library,
                                      .waits = row->waits,
                                      .origin = profile_origin_of(profile, id),
                                      .entry = __atomic_load_n(&row->entry, __ATOMIC_RELAXED) };
}

struct profile_frame profile_frame_at(const struct profile_snapshot *snapshot, frame_id id)
{
    return *(const struct profile_frame *)table_at(&snapshot->profile->tables.frames, id);
}

struct profile_node profile_node_at(const struct profile_snapshot *snapshot, node_id id)
{
    return *(const struct profile_node *)table_at(&snapshot->profile->tables.nodes, id);
}

struct profile_thread profile_thread_at(const struct profile_snapshot *snapshot, thread_id id)
{
    return *(const struct profile_thread *)table_at(&snapshot->profile->tables.threads, id);
}

bool profile_is_waiting_tasks(const struct profile_snapshot *snapshot, thread_id id)
{
    const struct profile_thread thread = profile_thread_at(snapshot, id);
    return thread.tid == 0 && thread.ident == 0 && !thread.is_main &&
           strcmp(profile_string(snapshot, thread.name).text, PROFILE_WAITING_TASKS) == 0;
}

enum wait_cause profile_cause_at(const struct profile_snapshot *snapshot, node_id id)
{
    const frame_id frame = profile_node_at(snapshot, id).frame;
    const function_id function = profile_frame_at(snapshot, frame).function;
    const struct profile_function *const row =
        table_at(&snapshot->profile->tables.functions, function);
    return row->waits;
}

bool profile_part_at(const struct profile_snapshot *snapshot, thread_id thread,
                     state_bits state, node_id node, enum part *out)
{
    *out = part_of(state, profile_cause_at(snapshot, node));
    return !profile_is_waiting_tasks(snapshot, thread);
}

struct profile_process profile_process_at(const struct profile_snapshot *snapshot,
                                          process_id id)
{
    return *(const struct profile_process *)table_at(&snapshot->profile->tables.processes, id);
}

struct profile_spot profile_spot_at(const struct profile_snapshot *snapshot, spot_id id)
{
    return *(const struct profile_spot *)table_at(&snapshot->profile->tables.spots, id);
}
