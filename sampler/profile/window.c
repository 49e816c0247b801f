#include "sampler/profile/window.h"

#include <stdlib.h>

enum err_code window_create(size_t cell_count, struct window **out, struct err *err)
{
    struct window *const window = malloc(sizeof *window + cell_count * sizeof(struct cell));
    if (!window)
        return err_set(err, ERR_NOMEM, "no memory for a window of %zu cells", cell_count);
    *window = (struct window){ .cell_count = cell_count };
    atomic_init(&window->references, 1);
    *out = window;
    return ERR_OK;
}

struct window *window_ref(struct window *window)
{
    atomic_fetch_add_explicit(&window->references, 1, memory_order_relaxed);
    return window;
}

void window_unref(struct window *window)
{
    if (window && atomic_fetch_sub_explicit(&window->references, 1, memory_order_acq_rel) == 1)
        free(window);
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_cells(const void *left, const void *right)
{
    const struct cell *const a = left, *const b = right;
    const int by_thread = compare_u32(a->thread, b->thread);
    const int by_state = compare_u32(a->state, b->state);
    return by_thread ? by_thread : by_state ? by_state : compare_u32(a->node, b->node);
}

void window_sort(struct window *window)
{
    qsort(window->cells, window->cell_count, sizeof *window->cells, compare_cells);
}

size_t window_bytes(const struct window *window)
{
    return sizeof *window + window->cell_count * sizeof *window->cells;
}
