#include "server/report/summary.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/gil.h"
#include "sampler/profile/views/mark_shares.h"
#include "sampler/profile/views/view.h"
#include "server/report/header.h"
#include "server/report/known_names.h"
#include "server/report/report_source.h"
#include "server/report/summary_headline.h"
#include "server/report/summary_rows.h"
#include "server/wire/session.h"

static void add_state(struct state_sums *sums, state_bits state, uint64_t count)
{
    sums->samples += count;
    for (enum state_flag flag = 0; flag < STATE_FLAG_COUNT; flag++) {
        if (state & state_flag_unknown(flag))
            sums->unknown[flag] += count;
        else if (state & state_flag_yes(flag))
            sums->yes[flag] += count;
    }
}

/* Most samples first; a library that has more than one row has one path. */
static void take_libraries(struct summary *summary, const uint64_t *by_library)
{
    const struct profile_snapshot *const snapshot = summary->source->snapshot;
    for (library_id id = 1; id < snapshot->sizes.libraries; id++) {
        struct summary_library row = {
            profile_string(snapshot, profile_library_at(snapshot, id).path), by_library[id]
        };
        if (row.samples == 0 ||
            (profile_library_at(snapshot, id).flags & PROFILE_LIBRARY_INTERPRETER))
            continue;
        summary->native += row.samples;
        for (size_t i = 0; i < SUMMARY_LIBRARIES && row.samples > 0; i++) {
            struct summary_library *const at = &summary->libraries[i];
            if (row.samples <= at->samples)
                continue;
            const struct summary_library pushed = *at;
            *at = row;
            row = pushed;
        }
    }
    while (summary->library_count < SUMMARY_LIBRARIES &&
           summary->libraries[summary->library_count].samples > 0)
        summary->library_count++;
}

static enum err_code find_cells(struct summary *summary, struct err *err)
{
    const struct report_source *const source = summary->source;
    const uint32_t libraries = source->snapshot->sizes.libraries;
    uint64_t *const by_library = calloc((size_t)libraries + 1, sizeof *by_library);
    struct view_cells cells = { 0 };
    if (!by_library)
        return err_nomem(err);
    const enum err_code rc = view_cells_init(&cells, source->snapshot, source->query, err);
    if (!rc) {
        /* The sums over the cells: samples by part and state, threads, and hot samples by library. */
        const struct profile_snapshot *const snapshot = summary->source->snapshot;
        uint64_t longest = 0, shortest = UINT64_MAX;
        for (size_t i = 0, end = 0; i < cells.count; i = end) {
            uint64_t samples = 0, idle = 0;
            for (end = i; end < cells.count && cells.cells[end].thread == cells.cells[i].thread;
                 end++) {
                const struct view_cell *const cell = &cells.cells[end];
                const node_id node = wait_unmarked(snapshot, cell->node);
                const frame_id frame = profile_node_at(snapshot, node).frame;
                const function_id function = profile_frame_at(snapshot, frame).function;
                enum part part;
                if (!profile_part_at(snapshot, cell->thread, cell->state, cell->node, &part))
                    continue;
                samples += cell->count;
                idle += part == PART_IDLE ? cell->count : 0;
                summary->parts[part] += cell->count;
                summary->parts_ns[part] +=
                    view_cell_ns(cell, summary->source->header->period_ns);
                if (part == PART_RUNNING)
                    by_library[profile_function_at(snapshot, function).library] += cell->count;
                if (part != PART_IDLE)
                    add_state(&summary->states, cell->state, cell->count);
            }
            const bool is_idle = (double)idle >= SUMMARY_IDLE_SHARE * (double)samples;
            summary->samples += samples;
            summary->thread_count += samples > 0;
            summary->idle_threads += samples > 0 && is_idle;
            longest = samples > longest ? samples : longest;
            shortest = samples > 0 && samples < shortest ? samples : shortest;
        }
        summary->threads_last = (double)shortest >= SUMMARY_LASTING_SHARE * (double)longest;
        summary->lacks_states =
            !summary->source->header->is_of_time ||
            (summary->states.samples > 0 &&
             summary->states.unknown[STATE_FLAG_ON_CPU] == summary->samples);
        summary->busy = summary->samples - summary->parts[PART_IDLE];
        summary->hot = summary->parts[PART_RUNNING];
        summary->waiting = summary->busy - summary->hot;

        take_libraries(summary, by_library);
    }
    view_cells_deinit(&cells);
    free(by_library);
    return rc;
}

static int by_samples(const void *left, const void *right)
{
    const struct summary_cause *const a = left, *const b = right;
    if (a->samples != b->samples)
        return a->samples > b->samples ? -1 : 1;
    return (a->cause > b->cause) - (a->cause < b->cause);
}

static enum err_code find_causes(struct summary *summary, struct err *err)
{
    const struct report_source *const source = summary->source;
    struct mark_shares shares;
    const enum err_code rc =
        mark_shares_init(&shares, MARK_WAITS, source->snapshot, source->query, err);
    if (rc)
        return rc;
    for (enum wait_cause id = WAIT_UNKNOWN; id < WAIT_CAUSE_COUNT; id++) {
        struct summary_cause *const cause = &summary->causes[summary->cause_count];
        if (shares.by_cause[id] == 0)
            continue;
        *cause = (struct summary_cause){ .cause = id, .samples = shares.by_cause[id] };
        for (size_t i = 0; i < shares.count; i++) {
            {
                const struct mark_share *const share = &shares.items[i];
                if (share->wait.cause != id || share->wait.detail_length == 0)
                    continue;

                if (cause->peer_count < SUMMARY_PEERS)
                    cause->peers[cause->peer_count] =
                        (struct summary_peer){ { share->wait.detail,
                                                 (uint32_t)share->wait.detail_length },
                                               share->samples };
                cause->peer_count++;
            }
        }
        summary->cause_count++;
    }
    qsort(summary->causes, summary->cause_count, sizeof *summary->causes, by_samples);
    mark_shares_deinit(&shares);
    return ERR_OK;
}

/* The thread for which the others waited longest. */
static enum err_code find_holder(struct summary *summary, struct err *err)
{
    const struct profile_snapshot *const snapshot = summary->source->snapshot;
    uint64_t most = 0;
    struct gil gil;
    const enum err_code rc = gil_init(&gil, snapshot, summary->source->query, err);
    if (rc)
        return rc;
    for (size_t holder = 0; holder < gil.thread_count; holder++) {
        uint64_t caused = 0;
        for (size_t waiter = 0; waiter < gil.rows; waiter++)
            caused += gil.pairs[holder * gil.rows + waiter];
        if (caused <= most)
            continue;
        const struct profile_thread thread = profile_thread_at(snapshot, gil.threads[holder]);
        most = caused;
        summary->holder = profile_string(snapshot, thread.name);
        summary->holder_tid = thread.tid;
        summary->holder_share = (double)caused / (double)gil.waited;
    }
    gil_deinit(&gil);
    return ERR_OK;
}

static size_t row_limit(const struct report_source *source, size_t usual)
{
    const size_t limit = source->settings.limit ? source->settings.limit : usual;
    return limit < SUMMARY_MAX_ROWS ? limit : SUMMARY_MAX_ROWS;
}

/* "<native> numpy.dot", but not "<native> list.sort" */
static bool is_foreign_c(const struct named_frame *frame)
{
    struct strtab_string name;
    return names_c_function(frame, &name) &&
           !known_names_has(name.text, strcspn(name.text, "."));
}

static bool has_thread(const struct view_query *query, thread_id id)
{
    bool has = !query->threads;
    for (size_t i = 0; i < query->thread_count && !has; i++)
        has = query->threads[i] == id;
    return has;
}

/* Waiting tasks are no threads, so they show whatever parts of time are asked for. */
static enum err_code find_tasks(struct summary *summary, struct err *err)
{
    const struct report_source *const source = summary->source;
    const uint32_t count = source->snapshot->sizes.threads;
    thread_id *const threads = malloc(((size_t)count + 1) * sizeof *threads);
    struct view_query query = *source->query;
    enum err_code rc = ERR_OK;
    uint64_t own;
    if (!threads)
        return err_nomem(err);
    query.states.parts = 0;
    query.threads = threads;
    query.thread_count = 0;
    for (thread_id id = 0; id < count; id++)
        if (profile_is_waiting_tasks(source->snapshot, id) && has_thread(source->query, id))
            threads[query.thread_count++] = id;
    if (query.thread_count)
        rc = summary_find_lines(source, &query, row_limit(source, SUMMARY_TASK_LINES),
                                &summary->task_lines, &own, err);
    summary->tasks = summary->task_lines.samples;
    free(threads);
    return rc;
}

enum err_code summary_init(struct summary *summary, const struct report_source *source,
                           struct err *err)
{
    static const part_set waits =
        1U << PART_NEEDS_GIL | 1U << PART_NEEDS_PROCESSOR | 1U << PART_BLOCKED;
    struct view_query query;
    uint64_t waiting_own = 0;
    *summary = (struct summary){ .source = source };
    enum err_code rc = find_cells(summary, err);
    if (!rc && summary_narrow(source, 1U << PART_RUNNING, &query)) {
        rc = summary_find_lines(source, &query, row_limit(source, SUMMARY_LINES),
                                &summary->lines, &summary->own, err);
        if (!rc)
            rc = summary_find_functions(source, &query, row_limit(source, SUMMARY_FUNCTIONS),
                                        &summary->functions, err);

        const struct summary_rows *const rows = &summary->functions;
        /* A session may have begun with them later: then it has libraries. */
        if (summary->source->session->options->native != SESSION_NATIVE_FULL &&
            summary->source->snapshot->sizes.libraries <= 1) {
            for (size_t i = 0; i < rows->count && !summary->c_function.self; i++)
                if (is_foreign_c(&rows->rows[i].frame) &&
                    100 * rows->rows[i].self > SUMMARY_NATIVE_PERCENT * summary->hot)
                    summary->c_function = rows->rows[i];
        }
    }
    if (!rc && summary->waiting > 0 && summary_narrow(source, waits, &query)) {
        rc = summary_find_lines(source, &query, row_limit(source, SUMMARY_WAIT_LINES),
                                &summary->wait_lines, &waiting_own, err);
        if (!rc)
            rc = summary_find_functions(source, &query, row_limit(source, SUMMARY_WAITS),
                                        &summary->wait_functions, err);
    }
    if (!rc)
        rc = find_tasks(summary, err);
    if (!rc)
        rc = find_causes(summary, err);
    if (!rc) {
        const bool chooses_states = state_condition_is_set(&source->header->states);
        const struct state_sums *const sums = &summary->states;
        const uint64_t waited = sums->yes[STATE_FLAG_WAITS_GIL];
        if (!session_info_has_gil(summary->source->session, sums))
            summary->gil = SUMMARY_GIL_NONE;
        else if (waited == 0 && sums->unknown[STATE_FLAG_WAITS_GIL] > 0 &&
                 sums->unknown[STATE_FLAG_WAITS_GIL] + sums->yes[STATE_FLAG_HAS_GIL] >=
                     sums->samples)
            summary->gil = SUMMARY_GIL_UNKNOWN;
        rc = summary->gil == SUMMARY_GIL_KNOWN && waited > 0 && !chooses_states
                 ? find_holder(summary, err)
                 : ERR_OK;
    }
    return rc ? rc : summary_find_headline(summary, err);
}
