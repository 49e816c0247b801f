#include "sampler/profile/window.h"

#include <stdint.h>
#include <stdlib.h>

#include "sampler/profile/cell_key.h"

static size_t bytes_of(size_t cell_count)
{
    return sizeof(struct window) + cell_count * sizeof(struct cell);
}

enum err_code window_create(size_t cell_count, struct window **out, struct err *err)
{
    const size_t most = (SIZE_MAX - sizeof(struct window)) / sizeof(struct cell);
    struct window *const window = cell_count <= most ? malloc(bytes_of(cell_count)) : NULL;
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
    /* Release and acquire: who frees sees what all others did to it before they let go. */
    if (window && atomic_fetch_sub_explicit(&window->references, 1, memory_order_acq_rel) == 1)
        free(window);
}

static int compare(const void *left, const void *right)
{
    const struct cell *const a = left;
    const struct cell *const b = right;
    return cell_key_order(cell_key(a->thread, a->state, a->node),
                          cell_key(b->thread, b->state, b->node));
}

void window_sort(struct window *window)
{
    qsort(window->cells, window->cell_count, sizeof *window->cells, compare);
}

size_t window_bytes(const struct window *window)
{
    return bytes_of(window->cell_count);
}
