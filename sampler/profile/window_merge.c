#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/cell_key.h"
#include "sampler/profile/window.h"

static uint64_t key_of(const struct cell *cell)
{
    return cell_key(cell->thread, cell->state, cell->node);
}

/* A window without cells has no period. */
static bool has_one_period(const struct window *a, const struct window *b)
{
    if (a->cell_ns || b->cell_ns)
        return false;
    return a->cell_count == 0 || b->cell_count == 0 || a->period_ns == b->period_ns;
}

static void put_cell(struct window *to, size_t at, const struct window *from, size_t cell)
{
    to->cells[at] = from->cells[cell];
    if (to->cell_ns)
        to->cell_ns[at] = window_cell_ns(from, cell);
}

/* Both are sorted.  Returns the number of merged cells. */
static size_t merge_cells(const struct window *a, const struct window *b, struct window *to)
{
    size_t i = 0, j = 0, count = 0;
    while (i < a->cell_count || j < b->cell_count) {
        const uint64_t left = i < a->cell_count ? key_of(&a->cells[i]) : UINT64_MAX;
        const uint64_t right = j < b->cell_count ? key_of(&b->cells[j]) : UINT64_MAX;
        if (left <= right)
            put_cell(to, count, a, i++);
        else
            put_cell(to, count, b, j++);
        if (left == right) {
            const size_t cell = j++;
            to->cells[count].count += b->cells[cell].count;
            if (to->cell_ns)
                to->cell_ns[count] += window_cell_ns(b, cell);
        }
        count++;
    }
    return count;
}

static uint64_t spot_key_of(const struct window *window, size_t spot)
{
    return spot < window->spot_count
               ? spot_key(window->spots[spot].node, window->spots[spot].spot)
               : UINT64_MAX;
}

static size_t merge_spots(const struct window *a, const struct window *b, struct spot_cell *to)
{
    size_t i = 0, j = 0, count = 0;
    while (i < a->spot_count || j < b->spot_count) {
        const uint64_t left = spot_key_of(a, i), right = spot_key_of(b, j);
        to[count] = left <= right ? a->spots[i++] : b->spots[j++];
        if (left == right)
            to[count].count += b->spots[j++].count;
        count++;
    }
    return count;
}

static enum err_code reserve_room(const struct window *a, const struct window *b,
                                  struct window **out, struct err *err)
{
    struct window *to;
    const size_t cells = a->cell_count + b->cell_count;
    enum err_code rc = window_create(cells, &to, err);
    if (rc)
        return rc;
    rc = window_reserve_spots(to, a->spot_count + b->spot_count, err);
    if (!rc && !has_one_period(a, b) && !(to->cell_ns = calloc(cells + 1, sizeof(uint64_t))))
        rc = err_nomem(err);
    if (rc)
        window_unref(to);
    else
        *out = to;
    return rc;
}

static enum err_code merge_two(const struct window *a, const struct window *b,
                               struct window **out, struct err *err)
{
    struct window *to;
    const enum err_code rc = reserve_room(a, b, &to, err);
    if (rc)
        return rc;
    const size_t cells = merge_cells(a, b, to);
    const size_t spots = merge_spots(a, b, to->spots);

    to->generation = b->generation;
    to->first_generation = a->first_generation;
    to->parts = a->parts + b->parts;
    to->start_ns = a->start_ns;
    to->end_ns = b->end_ns;
    to->samples = a->samples + b->samples;
    to->period_ns = to->cell_ns ? 0 : a->cell_count ? a->period_ns : b->period_ns;
    to->sizes = b->sizes;

    /* The parts are consecutive, so the runs of a thread stay in order.  Without memory for them, the window
     * does without. */
    const size_t count = a->run_count + b->run_count;
    if (count && window_is_ordered(a) && window_is_ordered(b)) {
        to->runs = malloc(count * sizeof *to->runs);
        if (to->runs) {
            if (a->run_count)
                memcpy(to->runs, a->runs, window_run_bytes(a));
            if (b->run_count)
                memcpy(to->runs + a->run_count, b->runs, window_run_bytes(b));
            to->run_count = count;
        }
    }

    /* Memory reserved for cells that turned out equal is given back, if possible. */
    const size_t bytes = sizeof *to + cells * sizeof *to->cells;
    to->cell_count = cells;
    to->spot_count = spots;
    if (to->cell_ns && cells) {
        uint64_t *const times = realloc(to->cell_ns, cells * sizeof *times);
        to->cell_ns = times ? times : to->cell_ns;
    }
    if (to->spots && spots) {
        struct spot_cell *const less = realloc(to->spots, spots * sizeof *less);
        to->spots = less ? less : to->spots;
    }
    struct window *const less = realloc(to, bytes);
    *out = less ? less : to;
    return ERR_OK;
}

/* Merges halves recursively: each cell is copied log2(count) times. */
enum err_code window_merge(struct window *const *windows, size_t count, struct window **out,
                           struct err *err)
{
    struct window *left, *right;
    if (count == 1) {
        *out = window_ref(windows[0]);
        return ERR_OK;
    }
    enum err_code rc = window_merge(windows, count / 2, &left, err);
    if (rc)
        return rc;
    rc = window_merge(windows + count / 2, count - count / 2, &right, err);
    if (!rc) {
        rc = merge_two(left, right, out, err);
        window_unref(right);
    }
    window_unref(left);
    return rc;
}
