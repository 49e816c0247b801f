#include "sampler/cpython/threads/sub_interpreter_stacks.h"

#include <stdint.h>

#include "sampler/cpython/threads/threads.h"

static bool is_inside(const struct thread *inner, const struct thread *outer)
{
    return inner->head.tid == outer->head.tid && inner->interp_id > outer->interp_id;
}

/* The next state inside `outer`; the states form a chain. */
static struct thread *inner_of(const struct thread_list *list, const struct thread *outer)
{
    struct thread *nearest = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct thread *const other = list->items[i];
        if (is_inside(other, outer) && (!nearest || is_inside(nearest, other)))
            nearest = other;
    }
    return nearest;
}

/* Returns the number of threads of other interpreters, which come first then. */
static size_t put_main_last(struct thread_list *list)
{
    size_t others = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct thread *const thread = list->items[i];
        if (thread->interp_id == 0)
            continue;
        list->items[i] = list->items[others];
        list->items[others++] = thread;
    }
    return others;
}

void sub_stacks_find(struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        list->items[i]->inner = NULL;
        list->items[i]->is_inner = false;
    }
    if (list->interpreter_count < 2 || !list->runtime->layout.has_state_per_interpreter)
        return;
    const size_t others = put_main_last(list);
    for (size_t i = 0; i < list->count && others; i++) {
        struct thread *const thread = list->items[i];
        if (thread->head.tid)
            thread->inner = inner_of(list, thread);
        if (thread->inner)
            thread->inner->is_inner = true;
    }
}

bool sub_stacks_runs_elsewhere(const struct thread *thread)
{
    for (const struct thread *inner = thread->inner; inner; inner = inner->inner)
        if (inner->stack.count > 0)
            return true;
    return false;
}
