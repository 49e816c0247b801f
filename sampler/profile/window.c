#include "sampler/profile/window.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/profile/cell_key.h"

enum { FEW_CELLS = 64 };

static size_t bytes_of(size_t cell_count)
{
    return sizeof(struct window) + cell_count * sizeof(struct cell);
}

enum err_code window_create(size_t cell_count, struct window **out, struct err *err)
{
    const size_t most = (SIZE_MAX - sizeof(struct window)) / sizeof(struct cell);
    struct window *const window = cell_count <= most ? malloc(bytes_of(cell_count)) : NULL;
    if (!window)
        return err_nomem(err);
    *window = (struct window){ .cell_count = cell_count, .parts = 1 };
    atomic_init(&window->references, 1);
    *out = window;
    return ERR_OK;
}

enum err_code window_reserve_spots(struct window *window, size_t spot_count, struct err *err)
{
    if (!spot_count)
        return ERR_OK;
    window->spots = calloc(spot_count, sizeof *window->spots);
    if (!window->spots)
        return err_nomem(err);
    window->spot_count = spot_count;
    return ERR_OK;
}

struct window *window_ref(struct window *window)
{
    atomic_fetch_add_explicit(&window->references, 1, memory_order_relaxed);
    return window;
}

void window_unref(struct window *window)
{
    /* Release and acquire: the thread that frees sees all writes of the other holders. */
    if (!window || atomic_fetch_sub_explicit(&window->references, 1, memory_order_acq_rel) != 1)
        return;
    free(window->spots);
    free(window->cell_ns);
    free(window->runs);
    free(window);
}

static uint64_t key_of(const struct cell *cell)
{
    return cell_key(cell->thread, cell->state, cell->node);
}

static int compare_cells(const void *left, const void *right)
{
    return cell_key_order(key_of(left), key_of(right));
}

static int compare_spots(const void *left, const void *right)
{
    const struct spot_cell *const a = left;
    const struct spot_cell *const b = right;
    return cell_key_order(spot_key(a->node, a->spot), spot_key(b->node, b->spot));
}

/* The sampling thread sorts a window between two samples: a radix sort takes a fifth of the time of
 * qsort.  qsort is for few cells, and for when memory runs out. */
void window_sort(struct window *window)
{
    const size_t count = window->cell_count;
    struct cell *const scratch = count < FEW_CELLS ? NULL : malloc(count * sizeof(struct cell));
    if (scratch) {
        struct cell *const cells = window->cells;

        const uint64_t first = key_of(&cells[0]);
        uint64_t varying = 0;
        for (size_t i = 1; i < count; i++)
            varying |= key_of(&cells[i]) ^ first;

        struct cell *from = cells, *to = scratch;
        for (unsigned shift = 0; shift < 64; shift += 8) {
            if (!(varying >> shift & 0xff))
                continue;

            /* The cells are sorted by one byte of their keys; the sort is stable. */
            size_t start[257] = { 0 };
            for (size_t i = 0; i < count; i++)
                start[(key_of(&from[i]) >> shift & 0xff) + 1]++;
            for (size_t byte = 0; byte < 256; byte++)
                start[byte + 1] += start[byte];
            for (size_t i = 0; i < count; i++)
                to[start[key_of(&from[i]) >> shift & 0xff]++] = from[i];

            struct cell *const sorted = to;
            to = from;
            from = sorted;
        }
        if (from != cells)
            memcpy(cells, from, count * sizeof *cells);
    } else
        qsort(window->cells, count, sizeof(struct cell), compare_cells);
    free(scratch);
    if (window->spot_count)
        qsort(window->spots, window->spot_count, sizeof *window->spots, compare_spots);
}

size_t window_bytes(const struct window *window)
{
    const size_t times = window->cell_ns ? window->cell_count * sizeof *window->cell_ns : 0;
    return bytes_of(window->cell_count) + times +
           window->spot_count * sizeof(struct spot_cell) + window_run_bytes(window);
}

uint64_t window_sum(const struct window *window)
{
    uint64_t sum = 0;
    if (!window->cell_ns)
        return window->samples * window->period_ns;
    for (size_t i = 0; i < window->cell_count; i++)
        sum += window->cell_ns[i];
    return sum;
}

uint64_t window_run_ns(const struct window *window, const struct window_run *run)
{
    size_t at;
    if (!window->cell_ns)
        return run->count * window->period_ns;
    LOWER_BOUND(at, window->cell_count, key_of(&window->cells[at]) < run->key);
    if (at == window->cell_count || key_of(&window->cells[at]) != run->key)
        return 0;
    return (uint64_t)((double)window->cell_ns[at] * run->count / window->cells[at].count);
}

static void *copy_of(const void *items, size_t bytes)
{
    void *const copy = malloc(bytes);
    return copy ? memcpy(copy, items, bytes) : NULL;
}

enum err_code window_without_runs(const struct window *window, struct window **out,
                                  struct err *err)
{
    const size_t bytes = bytes_of(window->cell_count);
    struct window *const copy = copy_of(window, bytes);
    if (!copy)
        return err_nomem(err);
    atomic_init(&copy->references, 1);
    copy->runs = NULL;
    copy->run_count = 0;
    if (window->spots)
        copy->spots = copy_of(window->spots, window->spot_count * sizeof *copy->spots);
    if (window->cell_ns)
        copy->cell_ns = copy_of(window->cell_ns, window->cell_count * sizeof *copy->cell_ns);
    if ((window->spots && !copy->spots) || (window->cell_ns && !copy->cell_ns)) {
        window_unref(copy);
        return err_nomem(err);
    }
    *out = copy;
    return ERR_OK;
}
