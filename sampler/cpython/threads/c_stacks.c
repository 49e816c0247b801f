#include "sampler/cpython/threads/c_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

void c_stacks_deinit(struct c_stacks *stacks)
{
    free(stacks->items);
    *stacks = (struct c_stacks){ 0 };
}

void c_stacks_clear(struct c_stacks *stacks)
{
    stacks->count = 0;
}

enum err_code c_stacks_add(struct c_stacks *stacks, uint64_t pthread, int32_t host_tid)
{
    if (!VEC_RESERVE(stacks->items, stacks->room, stacks->count + 1))
        return ERR_NOMEM;
    stacks->items[stacks->count++] = (struct c_stack){ .to = pthread, .host_tid = host_tid };
    return ERR_OK;
}

static int by_end(const void *a, const void *b)
{
    const struct c_stack *const x = a, *const y = b;
    return (x->to > y->to) - (x->to < y->to);
}

enum err_code c_stacks_place(struct c_stacks *stacks, const struct maps *maps,
                             int32_t first_tid)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < maps->count && first_tid && !rc; i++)
        if (strcmp(maps->items[i].path, "[stack]") == 0)
            rc = c_stacks_add(stacks, maps->items[i].end, first_tid);
    if (stacks->count)
        qsort(stacks->items, stacks->count, sizeof *stacks->items, by_end);
    for (size_t i = 0; i < stacks->count && !rc; i++) {
        /* Down to the next pthread_t in its mapping, if there is one. */
        struct c_stack *const stack = &stacks->items[i];
        const struct c_stack *const below = i ? &stacks->items[i - 1] : NULL;
        const struct mapping *const mapping = stack->to ? maps_find(maps, stack->to - 1) : NULL;
        const bool is_stack = mapping && mapping->readable && mapping->writable;
        stack->from = is_stack ? mapping->start : stack->to;
        if (is_stack && below && below->to > stack->from)
            stack->from = below->to;
    }
    return rc;
}

const struct c_stack *c_stacks_find(const struct c_stacks *stacks, remote_addr addr)
{
    size_t at;
    LOWER_BOUND(at, stacks->count, stacks->items[at].to <= addr);
    return at < stacks->count && stacks->items[at].from <= addr ? &stacks->items[at] : NULL;
}
