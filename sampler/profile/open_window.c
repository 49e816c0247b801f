#include "sampler/profile/open_window.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
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

static struct cell cell_of(const struct tally_cell *from)
{
    return (struct cell){
        .thread = cell_key_thread(from->key),
        .node = cell_key_node(from->key),
        .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
        .state = cell_key_state(from->key),
    };
}

static struct spot_cell spot_cell_of(const struct tally_cell *from)
{
    return (struct spot_cell){
        .node = spot_key_node(from->key),
        .spot = spot_key_spot(from->key),
        .count = from->count < UINT32_MAX ? (uint32_t)from->count : UINT32_MAX,
    };
}

static enum err_code take_spots(const struct tally *spots, struct window *window,
                                struct err *err)
{
    const enum err_code rc = window_reserve_spots(window, spots->count, err);
    for (uint32_t i = 0; i < spots->count && !rc; i++)
        window->spots[i] = spot_cell_of(&spots->cells[i]);
    return rc;
}

static void take_cells(const struct tally *cells, struct window *window)
{
    for (uint32_t i = 0; i < cells->count; i++) {
        window->cells[i] = cell_of(&cells->cells[i]);
        window->samples += window->cells[i].count;
    }
    window_sort(window);
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

enum err_code open_window_close(const struct open_window *open, uint64_t end_ns,
                                struct window **out, struct err *err)
{
    struct window *window;
    enum err_code rc = window_create(open->cells.count, &window, err);
    if (rc)
        return rc;
    rc = take_spots(&open->spots, window, err);
    if (!rc)
        take_cells(&open->cells, window);
    if (!rc && open->is_timed)
        rc = take_times(&open->cells, window, err);
    if (rc) {
        window_unref(window);
        return rc;
    }
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
    open->start_ns = start_ns;
    open->is_timed = false;
}
