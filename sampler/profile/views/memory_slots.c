#include "sampler/profile/views/memory_slots.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/memory_log.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/timeline.h"
#include "sampler/profile/views/view.h"

enum { MAX_GROUPS = 64, NO_PLACE = MEMORY_MAX_PROCESSES };

/* The highest memory of a process in the range, and its column. */
struct peak {
    process_id process;
    uint64_t bytes;
    bool is_met;
};

static int by_peak(const void *left, const void *right)
{
    const struct peak *const a = left, *const b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return (a->process > b->process) - (a->process < b->process);
}

/* Rows of processes that joined after the snapshot was taken are left out. */
static bool is_wanted(const struct view_query *query, const struct profile_snapshot *snapshot,
                      process_id process)
{
    if (process == MEMORY_OTHERS)
        return query->process_count == 0;
    if (process >= snapshot->sizes.processes)
        return false;
    for (size_t i = 0; i < query->process_count; i++)
        if (query->processes[i] == process)
            return true;
    return query->process_count == 0;
}

/* Chooses the processes with rows, and gives each process its column in `columns`. */
static enum err_code choose_processes(struct memory_slots *memory, const struct memory_log *log,
                                      const struct view_query *query,
                                      const struct profile_snapshot *snapshot,
                                      unsigned char *columns, struct err *err)
{
    const size_t count = snapshot->sizes.processes;
    size_t met = 0;
    struct peak *const peaks = calloc(count + 1, sizeof *peaks);
    if (!peaks)
        return err_nomem(err);
    for (size_t i = 0; i < log->use_count; i++) {
        const struct memory_use *const use = &log->uses[i];
        if (use->process == MEMORY_OTHERS || !is_wanted(query, snapshot, use->process))
            continue;
        struct peak *const peak = &peaks[use->process];
        met += !peak->is_met;
        peak->is_met = true;
        peak->process = use->process;
        peak->bytes = use->peak_bytes > peak->bytes ? use->peak_bytes : peak->bytes;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (peaks[i].is_met)
            peaks[kept++] = peaks[i];
    qsort(peaks, kept, sizeof *peaks, by_peak);
    memory->process_count = kept < MEMORY_MAX_PROCESSES ? kept : MEMORY_MAX_PROCESSES;
    memory->others = met - memory->process_count;
    memset(columns, NO_PLACE, count);
    for (size_t i = 0; i < memory->process_count; i++) {
        memory->processes[i] = peaks[i].process;
        memory->peak_bytes[i] = peaks[i].bytes;
        columns[peaks[i].process] = (unsigned char)i;
    }
    free(peaks);
    return ERR_OK;
}

static void add_use(struct memory_amounts *amounts, const struct memory_use *use)
{
    amounts->rss_bytes += use->rss_bytes;
    amounts->swap_bytes += use->swap_bytes;
    amounts->minor_faults += use->minor_faults;
    amounts->major_faults += use->major_faults;
}

/* The limits of the control groups of a step, each once. */
struct limits {
    uint32_t groups[MAX_GROUPS];
    size_t count;
    uint64_t bytes;
    bool is_unknown; /* a process without a limit, or too many groups */
};

static void add_limit(struct limits *limits, const struct memory_use *use)
{
    if (use->rss_bytes == 0)
        return;
    for (size_t i = 0; i < limits->count; i++)
        if (limits->groups[i] == use->group)
            return;
    if (use->group == 0 || limits->count == MAX_GROUPS) {
        limits->is_unknown = true;
        return;
    }
    limits->groups[limits->count++] = use->group;
    limits->bytes += use->limit_bytes;
}

static void add_step(struct memory_slot *slot, const struct memory_slots *memory,
                     const struct memory_step *step, const struct memory_use *uses,
                     const struct view_query *query, const struct profile_snapshot *snapshot,
                     const unsigned char *columns)
{
    struct limits limits = { .count = 0 };
    uint64_t peaks = 0;

    /* The memory at the end is that of the last step of a slot. */
    slot->all.rss_bytes = slot->all.swap_bytes = 0;
    for (size_t i = 0; i < memory->process_count; i++)
        slot->processes[i].rss_bytes = slot->processes[i].swap_bytes = 0;

    for (uint32_t i = 0; i < step->count; i++) {
        if (!is_wanted(query, snapshot, uses[i].process))
            continue;
        const unsigned column =
            uses[i].process == MEMORY_OTHERS ? NO_PLACE : columns[uses[i].process];
        add_use(&slot->all, &uses[i]);
        if (column != NO_PLACE)
            add_use(&slot->processes[column], &uses[i]);
        add_limit(&limits, &uses[i]);
        peaks += uses[i].peak_bytes;
    }
    /* Processes may have had their peaks at different times. */
    peaks = peaks < step->peak_bytes ? peaks : step->peak_bytes;
    slot->peak_bytes = peaks > slot->peak_bytes ? peaks : slot->peak_bytes;
    slot->limit_bytes = limits.is_unknown ? 0 : limits.bytes;
    slot->end_ns = step->end_ns;
}

enum err_code memory_slots_init(struct memory_slots *memory,
                                const struct profile_snapshot *snapshot,
                                const struct view_query *query, size_t slots, struct err *err)
{
    struct memory_log log = { .step_count = 0 };
    struct memory_slots made = { .from_ns = query->from_ns,
                                 .to_ns = query->to_ns && query->to_ns < snapshot->end_ns
                                              ? query->to_ns
                                              : snapshot->end_ns };
    unsigned char *const columns = malloc((size_t)snapshot->sizes.processes + 1);
    made.width_ns = timeline_width_ns(made.from_ns, made.to_ns, slots);
    enum err_code rc = columns ? ERR_OK : err_nomem(err);
    if (!rc)
        rc = profile_copy_memory(snapshot->profile, made.from_ns, made.to_ns ? made.to_ns : 1,
                                 &log, err);
    if (!rc)
        rc = choose_processes(&made, &log, query, snapshot, columns, err);
    if (!rc) {
        const size_t most = slots < log.step_count ? slots + 1 : log.step_count;
        made.rows = calloc(most + 1, sizeof *made.rows);
        rc = made.rows ? ERR_OK : err_nomem(err);
    }
    for (size_t i = 0; i < log.step_count && !rc; i++) {
        const struct memory_step *const step = &log.steps[i];
        const uint64_t slot = step->start_ns / made.width_ns;
        if (made.count == 0 || made.rows[made.count - 1].slot != slot)
            made.rows[made.count++] =
                (struct memory_slot){ .slot = slot, .start_ns = step->start_ns };
        add_step(&made.rows[made.count - 1], &made, step, memory_log_uses(&log, step), query,
                 snapshot, columns);
    }
    memory_log_deinit(&log);
    free(columns);
    if (rc)
        memory_slots_deinit(&made);
    else
        *memory = made;
    return rc;
}

void memory_slots_deinit(struct memory_slots *memory)
{
    free(memory->rows);
    *memory = (struct memory_slots){ .count = 0 };
}
