#include "sampler/profile/views/states.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/views/cell_filter.h"
#include "sampler/profile/views/view.h"
#include "sampler/profile/window.h"

static double share_of(uint64_t part, uint64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : -1;
}

double state_sums_at_least(const struct state_sums *sums, enum state_flag flag)
{
    return share_of(sums->yes[flag], sums->samples);
}

double state_sums_at_most(const struct state_sums *sums, enum state_flag flag)
{
    return share_of(sums->yes[flag] + sums->unknown[flag], sums->samples);
}

static void add_window(const struct cell_filter *filter, const struct window *window,
                       struct state_sums *by_thread)
{
    for (size_t i = 0; i < window->cell_count; i++) {
        const struct cell *const cell = &window->cells[i];
        struct state_sums *const sums = &by_thread[cell->thread];
        enum part part;
        if (!cell_filter_passes(filter, cell))
            continue;
        sums->samples += cell->count;
        if (profile_part_at(filter->snapshot, cell->thread, cell->state, cell->node, &part))
            sums->parts[part] += cell->count;
        for (size_t j = 0; j < STATE_FLAG_COUNT; j++) {
            if (cell->state & state_flag_unknown((enum state_flag)j))
                sums->unknown[j] += cell->count;
            else if (cell->state & state_flag_yes((enum state_flag)j))
                sums->yes[j] += cell->count;
        }
    }
}

/* A row for each thread with samples. */
static enum err_code take_rows(struct states *states, const struct profile_snapshot *snapshot,
                               const struct state_sums *by_thread, struct err *err)
{
    const uint32_t threads = snapshot->sizes.threads;
    size_t count = 0;
    for (uint32_t id = 0; id < threads; id++)
        count += by_thread[id].samples > 0;
    states->rows = malloc((count + 1) * sizeof *states->rows);
    if (!states->rows)
        return err_nomem(err);
    for (uint32_t id = 0; id < threads; id++) {
        if (by_thread[id].samples == 0)
            continue;
        states->rows[states->count++] = (struct states_row){ id, by_thread[id] };
        if (profile_is_waiting_tasks(snapshot, id))
            states->tasks += by_thread[id].samples;
        else {
            const struct state_sums *const from = &by_thread[id];
            states->all.samples += from->samples;
            for (size_t i = 0; i < STATE_FLAG_COUNT; i++) {
                states->all.yes[i] += from->yes[i];
                states->all.unknown[i] += from->unknown[i];
            }
            for (size_t i = 0; i < PART_COUNT; i++)
                states->all.parts[i] += from->parts[i];
        }
    }
    return ERR_OK;
}

enum err_code states_init(struct states *states, const struct profile_snapshot *snapshot,
                          const struct view_query *query, struct err *err)
{
    const uint32_t threads = snapshot->sizes.threads;
    struct state_sums *const by_thread = calloc((size_t)threads + 1, sizeof *by_thread);
    struct states made = { .generation = snapshot->generation };
    struct view_query every_thread = *query;
    struct cell_filter filter;
    if (!by_thread)
        return err_nomem(err);
    every_thread.threads = NULL;
    every_thread.processes = NULL;
    enum err_code rc = cell_filter_init(&filter, snapshot, &every_thread, err);
    for (size_t i = filter.first; i < filter.end && !rc; i++)
        add_window(&filter, snapshot->windows[i], by_thread);
    if (!rc)
        rc = take_rows(&made, snapshot, by_thread, err);
    cell_filter_deinit(&filter);
    free(by_thread);
    if (!rc)
        *states = made;
    return rc;
}

void states_deinit(struct states *states)
{
    free(states->rows);
    memset(states, 0, sizeof *states);
}
