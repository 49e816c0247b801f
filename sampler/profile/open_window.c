#include "sampler/profile/open_window.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/profile/cell_key.h"
#include "sampler/profile/run.h"
#include "sampler/profile/window.h"

void open_window_init(struct open_window *open)
{
    *open = (struct open_window){ 0 };
    tally_init(&open->cells, PROFILE_MAX_CELLS);
    tally_init(&open->spots, PROFILE_MAX_CELLS);
}

void open_window_deinit(struct open_window *open)
{
    tally_deinit(&open->cells);
    tally_deinit(&open->spots);
    free(open->runs);
    free(open->last_runs);
}

enum err_code open_window_add(struct open_window *open, thread_id thread, state_bits state,
                              node_id node, uint32_t count, uint64_t ns, struct err *err)
{
    return tally_add(&open->cells, cell_key(thread, state, node), count, ns, err);
}

enum err_code open_window_add_spot(struct open_window *open, node_id node, spot_id spot,
                                   uint32_t count, struct err *err)
{
    return tally_add(&open->spots, spot_key(node, spot), count, 0, err);
}

/* Adds a run to the last one of its thread if it continues it: no sample moves by half a step then. */
static bool continues_run(const struct open_window *open, struct window_run *last,
                          const struct window_run *next)
{
    const uint64_t step_ns = last->count > 1   ? last->step_us * NS_PER_US
                             : next->count > 1 ? next->step_us * NS_PER_US
                                               : open->period_ns;
    const uint64_t expected_ns =
        last->first_ns +
        (last->count > 1 ? last->count * (last->step_us * NS_PER_US) : step_ns);
    const uint64_t off_ns = next->first_ns > expected_ns ? next->first_ns - expected_ns
                                                         : expected_ns - next->first_ns;
    const uint64_t other_ns = next->count > 1 ? next->step_us * NS_PER_US : step_ns;
    if (last->key != next->key || off_ns > step_ns / 2 ||
        next->count > UINT32_MAX - last->count || other_ns > step_ns + step_ns / 8 ||
        other_ns < step_ns - step_ns / 8)
        return false;
    if (last->count == 1)
        last->step_us = (uint32_t)(step_ns / NS_PER_US);
    last->count += next->count;
    return true;
}

void open_window_order(struct open_window *open, const struct run *run)
{
    const uint64_t step_us = run->step_ns / NS_PER_US;
    const struct window_run next = { .key = cell_key(run->thread, run->state, run->node),
                                     .first_ns = run->first_ns,
                                     .count = run->count,
                                     .step_us = step_us < UINT32_MAX ? (uint32_t)step_us
                                                                     : UINT32_MAX };

    if (!run->count)
        return;
    const size_t before = open->last_room;
    if (!VEC_RESERVE(open->last_runs, open->last_room, (size_t)run->thread + 1))
        return;
    memset(open->last_runs + before, 0, (open->last_room - before) * sizeof *open->last_runs);
    if (!VEC_RESERVE(open->runs, open->run_room, open->run_count + 1))
        return;

    uint32_t *const last = &open->last_runs[run->thread];
    open->run_samples += run->count;
    if (*last && continues_run(open, &open->runs[*last - 1], &next))
        return;
    open->runs[open->run_count++] = next;
    *last = (uint32_t)open->run_count;
}

static int compare_keys(const void *left, const void *right)
{
    const struct tally_cell *const a = left;
    const struct tally_cell *const b = right;
    return cell_key_order(a->key, b->key);
}

/* The times of the cells, in the order of the cells. */
static enum err_code take_times(const struct tally *from, struct window *window,
                                struct err *err)
{
    window->cell_ns = calloc((size_t)from->count + 1, sizeof *window->cell_ns);
    if (!window->cell_ns)
        return err_nomem(err);
    struct tally_cell *const cells = malloc(((size_t)from->count + 1) * sizeof *cells);
    if (!cells)
        return err_nomem(err);
    memcpy(cells, from->cells, from->count * sizeof *cells);
    qsort(cells, from->count, sizeof *cells, compare_keys);
    for (uint32_t i = 0; i < from->count; i++)
        window->cell_ns[i] = cells[i].ns;
    free(cells);
    return ERR_OK;
}

/* Without memory for them, the window does without. */
static void take_runs(const struct open_window *open, struct window *window)
{
    const size_t bytes = open->run_count * sizeof *window->runs;
    if (!open->run_count || open->run_samples != window->samples)
        return;
    window->runs = malloc(bytes);
    if (!window->runs)
        return;
    memcpy(window->runs, open->runs, bytes);
    window->run_count = open->run_count;
}

enum err_code open_window_close(const struct open_window *open, uint64_t end_ns,
                                struct window **out, struct err *err)
{
    struct window *window;
    enum err_code rc = window_create(open->cells.count, &window, err);
    if (rc)
        return rc;

    rc = window_reserve_spots(window, open->spots.count, err);
    for (uint32_t i = 0; i < open->spots.count && !rc; i++) {
        const struct tally_cell *const from = &open->spots.cells[i];
        window->spots[i] = (struct spot_cell){
            .node = spot_key_node(from->key),
            .spot = spot_key_spot(from->key),
            .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
        };
    }

    if (!rc) {
        for (uint32_t i = 0; i < open->cells.count; i++) {
            const struct tally_cell *const from = &open->cells.cells[i];
            window->cells[i] = (struct cell){
                .thread = cell_key_thread(from->key),
                .node = cell_key_node(from->key),
                .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
                .state = cell_key_state(from->key),
            };

            window->samples += window->cells[i].count;
        }
        window_sort(window);
    }
    if (!rc && open->is_timed)
        rc = take_times(&open->cells, window, err);
    if (rc) {
        window_unref(window);
        return rc;
    }
    take_runs(open, window);
    window->period_ns = open->is_timed ? 0 : open->period_ns;
    window->start_ns = open->start_ns;
    window->end_ns = end_ns;
    *out = window;
    return ERR_OK;
}

void open_window_clear(struct open_window *open, uint64_t start_ns)
{
    tally_clear(&open->cells);
    tally_clear(&open->spots);
    for (size_t i = 0; i < open->run_count; i++)
        open->last_runs[cell_key_thread(open->runs[i].key)] = 0;
    open->run_count = 0;
    open->run_samples = 0;
    open->start_ns = start_ns;
    open->is_timed = false;
}
