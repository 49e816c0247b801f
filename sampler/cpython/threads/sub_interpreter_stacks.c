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

/* Versions without native ids know a thread by its pthread_t. */
static bool is_of_same_thread(const struct thread *one, const struct thread *other)
{
    return one->head.tid == other->head.tid &&
           (one->head.tid || (one->head.ident && one->head.ident == other->head.ident));
}

static void find_earlier(const struct thread_list *list, size_t index)
{
    struct thread *const thread = list->items[index];
    for (size_t i = index; i-- > 0 && !thread->earlier;)
        if (is_of_same_thread(list->items[i], thread))
            thread->earlier = list->items[i];
    if (thread->earlier)
        thread->earlier->has_later = true;
}

void sub_stacks_find(struct thread_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        list->items[i]->inner = list->items[i]->earlier = NULL;
        list->items[i]->is_inner = list->items[i]->has_later = false;
    }
    if (list->interpreter_count < 2)
        return;
    const size_t others = put_main_last(list);
    for (size_t i = 0; i < list->count && others; i++)
        find_earlier(list, i);
    if (!list->runtime->layout.has_state_per_interpreter)
        return;
    for (size_t i = 0; i < list->count && others; i++) {
        struct thread *const thread = list->items[i];
        if (thread->head.tid)
            thread->inner = inner_of(list, thread);
        if (thread->inner)
            thread->inner->is_inner = true;
    }
}

static bool has_frames(const struct thread *thread)
{
    return thread->stack.count > 0 || thread->stack.certainty == STACK_TRUNCATED;
}

/* A state with frames is the sample; if none has any, the last state is. */
bool sub_stacks_runs_elsewhere(const struct thread *thread)
{
    if (!has_frames(thread) && thread->has_later)
        return true;
    for (const struct thread *at = thread->earlier; at && !has_frames(thread); at = at->earlier)
        if (has_frames(at))
            return true;
    for (const struct thread *inner = thread->inner; inner; inner = inner->inner)
        if (has_frames(inner))
            return true;
    return false;
}
