/*
 * vec - growing arrays.
 *
 *     if (!VEC_RESERVE(list->items, list->room, list->count + 1))
 *         return ERR_NOMEM;
 *     list->items[list->count++] = item;
 *
 * Ownership: the array is the caller's (free).
 * Depends on: libc.
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

#endif /* SAMPLER_BASE_VEC_H */
