/*
 * vec - growing arrays, and searching sorted ones.
 *
 *     if (!VEC_RESERVE(list->items, list->room, list->count + 1))
 *         return ERR_NOMEM;
 *     list->items[list->count++] = item;
 *
 *     LOWER_BOUND(at, list->count, list->items[at].key < key);
 *
 * Ownership: the array is the caller's (free).
 */
#ifndef SAMPLER_BASE_VEC_H
#define SAMPLER_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>

/* Makes room for count items; items are NULL at first, and room, a size_t, is 0.  Rooms double.
 * false: there is no memory, and nothing has changed. */
#define VEC_RESERVE(items, room, count) vec_reserve(&(items), &(room), count, sizeof *(items))

/* items: the address of the pointer to the items. */
bool vec_reserve(void *items, size_t *room, size_t count, size_t item_bytes);

/* Sets `at`, a size_t, to the index of the first of `count` sorted items for which is_below, an
 * expression of `at`, is false; to `count` if there is none. */
#define LOWER_BOUND(at, count, is_below)      \
    do {                                      \
        size_t low_ = 0, high_ = (count);     \
        while (low_ < high_) {                \
            (at) = low_ + (high_ - low_) / 2; \
            if (is_below)                     \
                low_ = (at) + 1;              \
            else                              \
                high_ = (at);                 \
        }                                     \
        (at) = low_;                          \
    } while (0)

#endif /* SAMPLER_BASE_VEC_H */
