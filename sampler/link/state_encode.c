#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/vec.h"
#include "sampler/capture/live_capture.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"

/* A process never says less than before, so a number says whether there is more. */
static unsigned count_said(const struct sampler_target *target)
{
    unsigned said = 1 + (target->to_ns != 0);
    for (size_t i = 0; i < SAMPLER_WARNINGS; i++)
        said += target->warnings[i] != NULL;
    return said;
}

static void put_targets(struct state_writer *writer, const struct sampler *sampler,
                        struct buffer *out)
{
    struct sampler_target target;
    struct buffer rows = { 0 }, record = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < SAMPLER_MAX_LISTED && sampler_target_at(sampler, i, &target); i++) {
        const unsigned said = count_said(&target);
        if (writer->said[i] == said)
            continue;
        writer->said[i] = said;
        buffer_clear(&record);
        target_record_encode(&target, SIZE_MAX, &record);
        buffer_number(&rows, i);
        buffer_sized_text(&rows, record.failed ? NULL : record.data);
        rows.failed |= record.failed;
        count++;
    }
    buffer_number(out, count);
    buffer_append(out, rows.data, rows.length);
    out->failed |= rows.failed;
    buffer_deinit(&rows);
    buffer_deinit(&record);
}

static void put_origins(struct state_writer *writer, const struct profile_snapshot *snapshot,
                        uint32_t functions, struct buffer *out)
{
    struct buffer rows = { 0 };
    size_t count = 0;
    const size_t before = writer->function_count;
    if (functions > before &&
        VEC_RESERVE(writer->functions, writer->function_room, functions)) {
        memset(writer->functions + before, 0, (functions - before) * sizeof *writer->functions);
        writer->function_count = functions;
    }
    for (uint32_t i = 0; i < writer->function_count && count < STATE_MAX_ORIGINS; i++) {
        const struct profile_function row = profile_function_at(snapshot, i);
        struct state_origin *const written = &writer->functions[i];
        if (written->origin == row.origin && written->entry == row.entry)
            continue;
        written->origin = row.origin;
        written->entry = row.entry;
        buffer_number(&rows, i);
        buffer_u64(&rows, row.origin);
        buffer_number(&rows, row.entry);
        count++;
    }
    buffer_number(out, count);
    buffer_append(out, rows.data, rows.length);
    out->failed |= rows.failed;
    buffer_deinit(&rows);
}

static bool has_all_rows(const struct sampler_tasks *tasks, const struct profile_sizes *rows)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->items[i].node >= rows->nodes || tasks->items[i].name >= rows->strings)
            return false;
    return tasks->awaiter_count <= STATE_MAX_AWAITERS;
}

static void put_task(const struct sampler_task *task, struct buffer *out)
{
    buffer_number(out, (uint64_t)task->pid);
    buffer_number(out, (uint64_t)task->tid);
    buffer_number(out, task->name);
    buffer_number(out, task->number);
    buffer_number(out, task->node);
    buffer_u8(out, (unsigned)task->is_running | (unsigned)task->is_moving << 1);
    buffer_number(out, task->seen_ns);
    buffer_number(out, task->since_ns);
    buffer_number(out, task->awaiter_count);
}

/* The awaiters of a task follow those of the task before. */
static void put_tasks(struct state_writer *writer, struct sampler *sampler,
                      const struct profile_sizes *rows, struct buffer *out)
{
    struct sampler_tasks tasks = { 0 };
    const bool has = sampler_options(sampler)->async != SAMPLER_ASYNC_OFF &&
                     sampler_tasks(sampler, &tasks, NULL) == ERR_OK &&
                     tasks.at_ns != writer->tasks_at_ns && has_all_rows(&tasks, rows);
    buffer_u8(out, has);
    if (has) {
        writer->tasks_at_ns = tasks.at_ns;
        buffer_number(out, tasks.at_ns);
        buffer_u8(out, tasks.is_cut);
        buffer_number(out, tasks.count);
        for (size_t i = 0; i < tasks.count; i++) {
            put_task(&tasks.items[i], out);
            for (uint32_t k = 0; k < tasks.items[i].awaiter_count; k++)
                buffer_number(out, tasks.awaiters[tasks.items[i].first_awaiter + k]);
        }
    }
    sampler_tasks_deinit(&tasks);
}

void state_writer_deinit(struct state_writer *writer)
{
    free(writer->functions);
    *writer = (struct state_writer){ .tasks_at_ns = 0 };
}

void state_encode(struct state_writer *writer, struct sampler *sampler,
                  const struct live_capture_seal *seal, struct buffer *out)
{
    struct sampler_status status;
    struct sampler_processes processes;
    struct profile_snapshot snapshot;
    /* The end first: who reads it has everything that was before. */
    sampler_status(sampler, &status);
    sampler_processes(sampler, &processes);
    buffer_append(out, &status, sizeof status);
    buffer_append(out, &processes, sizeof processes);
    buffer_append(out, &seal->quality, sizeof seal->quality);
    buffer_number(out, seal->end_ns);
    buffer_number(out, seal->lost);
    put_targets(writer, sampler, out);
    if (profile_snapshot(sampler_profile(sampler), &snapshot, NULL) == ERR_OK) {
        put_origins(writer, &snapshot, seal->rows.functions, out);
        profile_snapshot_release(&snapshot);
    } else {
        buffer_number(out, 0);
    }
    put_tasks(writer, sampler, &seal->rows, out);
}
