#include "sampler/profile/views/activity.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/context.h"
#include "sampler/profile/views/own_code.h"
#include "sampler/profile/views/view.h"

/* Facts about a function: these, and above them the cause if it is the mark of a wait. */
enum { OWN = 1, PYTHON = 2, CAUSE_SHIFT = 2 };

#define NO_ROW UINT32_MAX

/* Time of one process at one frame, for one cause of waiting. */
struct entry {
    process_id process;
    frame_id frame;
    function_id function;
    function_id mark; /* 0: it runs, or the cause is unknown */
    bool is_running;
    uint64_t ns;
};

struct counting {
    const struct profile_snapshot *snapshot;
    const struct own_marks *marks;
    struct activity *activity;
    uint32_t *row_of;       /* by process */
    frame_id *own, *python; /* by node: the innermost such frame, 0: none */
    struct entry *entries;
    size_t entry_count;
    struct view_cells cells;
};

void own_marks_deinit(struct own_marks *marks)
{
    free(marks->functions);
    *marks = (struct own_marks){ 0 };
}

static enum err_code mark_functions(struct own_marks *marks,
                                    const struct profile_snapshot *snapshot, struct err *err)
{
    const uint32_t count = snapshot->sizes.functions;
    if (marks->count >= count)
        return ERR_OK;
    unsigned char *const functions = realloc(marks->functions, count);
    if (!functions)
        return err_nomem(err);
    marks->functions = functions;
    own_code_mark_files(snapshot, marks->count, functions);
    for (function_id id = marks->count; id < count; id++) {
        const struct profile_function function = profile_function_at(snapshot, id);
        const bool is_mark =
            id == 0 || strcmp(profile_string(snapshot, function.file).text, "~") == 0;
        functions[id] = (unsigned char)((functions[id] ? OWN : 0) |
                                        (function.library || is_mark ? 0 : PYTHON) |
                                        function.waits << CAUSE_SHIFT);
    }
    marks->count = count;
    return ERR_OK;
}

static enum wait_cause cause_of(const struct counting *counting, function_id function)
{
    return (enum wait_cause)(counting->marks->functions[function] >> CAUSE_SHIFT);
}

/* The frame of your own code that runs, or waits for a known cause. */
static frame_id own_frame_of(const struct counting *counting, node_id node)
{
    if (counting->own[node])
        return counting->own[node];
    if (counting->python[node])
        return counting->python[node];
    return profile_node_at(counting->snapshot, context_unmarked(counting->snapshot, node))
        .frame;
}

/* Rows in the order of processes, for those with samples. */
static enum err_code add_rows(struct counting *counting, struct err *err)
{
    struct activity *const activity = counting->activity;
    const size_t processes = counting->snapshot->sizes.processes;
    for (size_t i = 0; i < counting->cells.count; i++)
        counting->row_of[profile_thread_at(counting->snapshot, counting->cells.cells[i].thread)
                             .process] = 0;
    for (process_id id = 0; id < processes; id++)
        if (counting->row_of[id] != NO_ROW)
            counting->row_of[id] = (uint32_t)activity->count++;
    activity->processes = calloc(activity->count + 1, sizeof *activity->processes);
    activity->running =
        calloc(activity->count * activity->slots + 1, sizeof *activity->running);
    if (!activity->processes || !activity->running)
        return err_nomem(err);
    for (process_id id = 0; id < processes; id++) {
        const uint32_t row = counting->row_of[id];
        if (row == NO_ROW)
            continue;
        activity->processes[row].process = id;
        activity->processes[row].running = activity->running + row * activity->slots;
    }
    return ERR_OK;
}

static void count_cells(struct counting *counting)
{
    struct activity *const activity = counting->activity;
    for (size_t i = 0; i < counting->cells.count; i++) {
        const struct view_cell *const cell = &counting->cells.cells[i];
        const process_id process = profile_thread_at(counting->snapshot, cell->thread).process;
        struct activity_process *const row = &activity->processes[counting->row_of[process]];
        enum part part;
        if (!profile_part_at(counting->snapshot, cell->thread, cell->state, cell->node, &part))
            continue;
        const bool is_running = part == PART_RUNNING;
        const frame_id innermost = profile_node_at(counting->snapshot, cell->node).frame;
        const function_id leaf = profile_frame_at(counting->snapshot, innermost).function;
        const bool is_known = !is_running && cause_of(counting, leaf) != WAIT_UNKNOWN;
        const frame_id frame =
            is_running || is_known ? own_frame_of(counting, cell->node) : innermost;
        row->parts_ns[part] += cell->ns;
        activity->running_ns += is_running ? cell->ns : 0;
        counting->entries[counting->entry_count++] = (struct entry){
            .process = process,
            .frame = frame,
            .function = profile_frame_at(counting->snapshot, frame).function,
            .mark = is_known ? leaf : 0,
            .is_running = is_running,
            .ns = cell->ns,
        };
    }
}

static void count_slots(struct counting *counting, const struct view_query *query)
{
    struct activity *const activity = counting->activity;
    const struct profile_snapshot *const snapshot = counting->snapshot;
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const struct window *const window = snapshot->windows[i];
        if (window->start_ns < query->from_ns)
            continue;
        const size_t slot = (window->start_ns - activity->from_ns) / activity->slot_ns;
        const bool is_last = window->end_ns + ACTIVITY_PRESENT_NS >= activity->to_ns;
        for (size_t j = 0; j < window->cell_count; j++) {
            const struct cell *const cell = &window->cells[j];
            const uint32_t row =
                counting->row_of[profile_thread_at(snapshot, cell->thread).process];
            enum part part;
            activity->processes[row].is_present |= is_last;
            if (profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part) &&
                part == PART_RUNNING)
                activity->running[row * activity->slots +
                                  (slot < activity->slots ? slot : activity->slots - 1)] +=
                    window_cell_ns(window, j);
        }
    }
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_frame(const void *left, const void *right)
{
    const struct entry *const a = left, *const b = right;
    if (a->is_running != b->is_running)
        return ORDER(b->is_running, a->is_running);
    if (a->function != b->function)
        return ORDER(a->function, b->function);
    if (a->process != b->process)
        return ORDER(a->process, b->process);
    return a->frame != b->frame ? ORDER(a->frame, b->frame) : ORDER(a->mark, b->mark);
}

static struct activity_place place_of(const struct counting *counting,
                                      const struct entry *entry)
{
    return (struct activity_place){
        .function = entry->function,
        .line = profile_frame_at(counting->snapshot, entry->frame).line,
        .is_own = counting->marks->functions[entry->function] & OWN,
        .ns = entry->ns,
    };
}

static struct activity_process *row_of(const struct counting *counting, process_id process)
{
    return &counting->activity->processes[counting->row_of[process]];
}

static enum err_code find_places(struct counting *counting, struct err *err)
{
    uint64_t(*const by_cause)[WAIT_CAUSE_COUNT] =
        calloc(counting->activity->count + 1, sizeof *by_cause);
    if (!by_cause)
        return err_nomem(err);

    for (size_t i = 0; i < counting->entry_count; i++) {
        const struct entry *const entry = &counting->entries[i];
        struct activity_place *const place = &row_of(counting, entry->process)->hottest;
        if (entry->is_running && entry->ns > place->ns)
            *place = place_of(counting, entry);
    }

    /* by_cause: the time of each row, for each cause.  The place of a cause is the one with most time. */
    for (size_t i = 0; i < counting->entry_count; i++) {
        const struct entry *const entry = &counting->entries[i];
        if (!entry->is_running && entry->mark)
            by_cause[counting->row_of[entry->process]][cause_of(counting, entry->mark)] +=
                entry->ns;
    }
    for (size_t i = 0; i < counting->entry_count; i++) {
        const struct entry *const entry = &counting->entries[i];
        struct activity_wait *const waits = &row_of(counting, entry->process)->waits;
        const enum wait_cause cause =
            entry->mark ? cause_of(counting, entry->mark) : WAIT_UNKNOWN;
        const uint64_t ns =
            entry->mark ? by_cause[counting->row_of[entry->process]][cause] : entry->ns;
        const bool is_same = cause != WAIT_UNKNOWN && waits->cause == cause;
        if (entry->is_running || (is_same ? entry->ns <= waits->place.ns : ns <= waits->ns))
            continue;
        *waits = (struct activity_wait){ cause, ns, entry->mark, place_of(counting, entry) };
    }

    free(by_cause);
    return ERR_OK;
}

/* The running entries, which come first, are in the order of functions, then processes. */
static void find_functions(struct counting *counting)
{
    const struct entry *const entries = counting->entries;
    for (size_t i = 0, end = 0; i < counting->entry_count && entries[i].is_running; i = end) {
        struct activity_function found = { .place = place_of(counting, &entries[i]) };
        uint64_t all_ns = 0, process_ns = 0, most_ns = 0, line_ns = 0;
        for (end = i; end < counting->entry_count && entries[end].is_running &&
                      entries[end].function == entries[i].function;
             end++) {
            const bool is_new = end == i || entries[end].process != entries[end - 1].process;
            found.processes += is_new;
            process_ns = (is_new ? 0 : process_ns) + entries[end].ns;
            all_ns += entries[end].ns;
            if (process_ns > most_ns) {
                most_ns = process_ns;
                found.process = entries[end].process;
            }
            if (entries[end].ns > line_ns) {
                line_ns = entries[end].ns;
                found.place = place_of(counting, &entries[end]);
            }
        }
        found.place.ns = all_ns;
        if (all_ns > 0) {
            struct activity *const activity = counting->activity;
            size_t at = activity->function_count;
            while (at > 0 && activity->functions[at - 1].place.ns < found.place.ns)
                at--;
            if (at != ACTIVITY_MAX_FUNCTIONS) {
                if (activity->function_count < ACTIVITY_MAX_FUNCTIONS)
                    activity->function_count++;
                memmove(&activity->functions[at + 1], &activity->functions[at],
                        (activity->function_count - at - 1) * sizeof *activity->functions);
                activity->functions[at] = found;
            }
        }
    }
}

static enum err_code count_activity(struct counting *counting, const struct view_query *query,
                                    struct err *err)
{
    const struct profile_sizes *const sizes = &counting->snapshot->sizes;
    enum err_code rc = view_cells_init(&counting->cells, counting->snapshot, query, err);
    if (rc)
        return rc;
    counting->row_of = malloc(((size_t)sizes->processes + 1) * sizeof *counting->row_of);
    counting->own = calloc((size_t)sizes->nodes + 1, sizeof *counting->own);
    counting->python = calloc((size_t)sizes->nodes + 1, sizeof *counting->python);
    counting->entries = malloc((counting->cells.count + 1) * sizeof *counting->entries);
    if (!counting->row_of || !counting->own || !counting->python || !counting->entries)
        return err_nomem(err);
    memset(counting->row_of, 0xff, ((size_t)sizes->processes + 1) * sizeof *counting->row_of);
    rc = add_rows(counting, err);
    if (rc)
        return rc;

    /* Parents come before children. */
    const struct profile_snapshot *const snapshot = counting->snapshot;
    for (node_id id = 1; id < snapshot->sizes.nodes; id++) {
        const struct profile_node node = profile_node_at(snapshot, id);
        const unsigned char marks =
            counting->marks->functions[profile_frame_at(snapshot, node.frame).function];
        counting->own[id] = marks & OWN ? node.frame : counting->own[node.parent];
        counting->python[id] = marks & PYTHON ? node.frame : counting->python[node.parent];
    }

    count_cells(counting);
    count_slots(counting, query);

    /* Adds up entries of the same frame in the same process. */
    struct entry *const entries = counting->entries;
    size_t kept = 0;
    qsort(entries, counting->entry_count, sizeof *entries, by_frame);
    for (size_t i = 0; i < counting->entry_count; i++) {
        if (kept > 0 && by_frame(&entries[kept - 1], &entries[i]) == 0)
            entries[kept - 1].ns += entries[i].ns;
        else
            entries[kept++] = entries[i];
    }
    counting->entry_count = kept;

    find_functions(counting);
    return find_places(counting, err);
}

enum err_code activity_init(struct activity *activity, const struct profile_snapshot *snapshot,
                            struct own_marks *marks, uint64_t slot_ns, size_t slots,
                            struct err *err)
{
    memset(activity, 0, sizeof *activity);
    const uint64_t last = snapshot->end_ns / slot_ns;
    const uint64_t first = last + 1 > slots ? last + 1 - slots : 0;
    activity->slots = last + 1 - first;
    activity->slot_ns = slot_ns;
    activity->to_ns = snapshot->end_ns;
    activity->from_ns = first * slot_ns;
    const struct view_query query = { .from_ns = activity->from_ns };
    struct counting counting = { .snapshot = snapshot, .marks = marks, .activity = activity };
    enum err_code rc = mark_functions(marks, snapshot, err);
    if (!rc)
        rc = count_activity(&counting, &query, err);
    view_cells_deinit(&counting.cells);
    free(counting.row_of);
    free(counting.own);
    free(counting.python);
    free(counting.entries);
    if (rc)
        activity_deinit(activity);
    return rc;
}

void activity_deinit(struct activity *activity)
{
    free(activity->processes);
    free(activity->running);
    memset(activity, 0, sizeof *activity);
}
