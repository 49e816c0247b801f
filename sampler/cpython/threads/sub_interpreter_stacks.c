/* For qsort_r. */
#define _GNU_SOURCE

#include "sampler/cpython/threads/sub_interpreter_stacks.h"

#include <stdint.h>
#include <stdlib.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/threads/threads.h"

/* The identity of a state's thread.  If the kernel has confirmed the thread, it is the kernel's number: the
 * interpreter's own is that of another thread after a fork that Python does not know of.  Until 3.10 a thread may run in a
 * state that another one has made, without a sign, and versions without native ids know a thread by its pthread_t. */
struct identity {
    bool is_confirmed;
    uint64_t number; /* 0: unknown */
};

/* Does the version show where on the C stack frames were called from? */
static bool knows_places(const struct thread_list *list)
{
    return list->runtime->layout.tstate_cframe || list->runtime->layout.has_entry_frames;
}

static struct identity identity_of(const struct thread_list *list, const struct thread *thread)
{
    if (knows_places(list) && thread->host_tid)
        return (struct identity){ true, (uint64_t)thread->host_tid };
    return (struct identity){ false, thread->head.tid ? (uint64_t)thread->head.tid
                                                      : thread->head.ident };
}

static int compare_numbers(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int compare_identities(struct identity one, struct identity other)
{
    const int confirmed = compare_numbers(one.is_confirmed, other.is_confirmed);
    return confirmed ? confirmed : compare_numbers(one.number, other.number);
}

static bool is_of_same_thread(const struct thread_list *list, const struct thread *one,
                              const struct thread *other)
{
    const struct identity identity = identity_of(list, one);
    return identity.number && compare_identities(identity, identity_of(list, other)) == 0;
}

/* The newest first, as CPython lists threads: a walk finds them again in this order.  A state that its thread has not made is
 * newer than its own. */
static int compare_threads(const void *left, const void *right, void *list)
{
    const struct thread *const one = *(struct thread *const *)left;
    const struct thread *const other = *(struct thread *const *)right;
    const int identities = compare_identities(identity_of(list, other), identity_of(list, one));
    const int interpreters = compare_numbers(other->interp_id, one->interp_id);
    return identities     ? identities
           : interpreters ? interpreters
                          : compare_numbers(other->is_lent, one->is_lent);
}

/* The states of a thread are searched for each of them; only a hostile process has more. */
enum { MAX_STATES = THREADS_MAX_INTERPRETERS };

void sub_stacks_find(struct thread_list *list)
{
    const bool is_nested = list->runtime->layout.has_state_per_interpreter;
    const bool may_have_several = list->interpreter_count > 1 || list->has_lent;
    size_t linked = 0;
    if (list->count && may_have_several)
        qsort_r(list->items, list->count, sizeof *list->items, compare_threads, list);
    for (size_t i = 0; i < list->count; i++) {
        struct thread *const thread = list->items[i];
        struct thread *const before = i ? list->items[i - 1] : NULL;
        thread->inner = thread->earlier = thread->later = NULL;
        thread->is_inner = false;
        linked = before && may_have_several && linked + 1 < MAX_STATES &&
                         is_of_same_thread(list, before, thread)
                     ? linked + 1
                     : 0;
        if (!linked)
            continue;
        thread->earlier = before;
        before->later = thread;
        if (before->is_lent ||
            (is_nested && thread->head.tid && before->interp_id > thread->interp_id)) {
            thread->inner = before;
            before->is_inner = true;
        }
    }
}

bool sub_stacks_has_frames(const struct thread *thread)
{
    return thread->stack.count > 0 || thread->stack.certainty == STACK_TRUNCATED;
}

remote_addr sub_stacks_place(const struct thread_list *list, const struct thread *thread)
{
    const struct stack *const stack = &thread->stack;
    const struct layout *const layout = &list->runtime->layout;
    if (!sub_stacks_has_frames(thread))
        return 0;
    if (layout->tstate_cframe)
        return field_u64(stack->copy.tstate, layout->tstate_cframe);
    remote_addr place = stack->walk.empty_entry;
    for (size_t i = stack->count; i-- > 0 && !place;)
        place = stack->frames[i].entry;
    return place;
}

/* Does the state run inside the other one, of the same thread?  C stacks grow downwards. */
static bool runs_inside(const struct thread_list *list, const struct thread *thread,
                        const struct thread *other)
{
    if (sub_stacks_has_frames(thread) != sub_stacks_has_frames(other))
        return sub_stacks_has_frames(thread);
    if (!sub_stacks_has_frames(thread))
        return false;
    const remote_addr place = sub_stacks_place(list, thread);
    const remote_addr other_place = sub_stacks_place(list, other);
    return place && other_place ? place < other_place : thread->interp_id > other->interp_id;
}

bool sub_stacks_is_spare(const struct thread *thread)
{
    return !thread->host_tid && !sub_stacks_has_frames(thread);
}

struct thread *sub_stacks_outermost(struct thread *thread)
{
    while (thread->is_inner)
        thread = thread->later;
    return thread;
}

bool sub_stacks_are_several(const struct thread *thread)
{
    return thread->earlier || thread->later;
}

/* If no state has frames, it is the last one.  Until 3.10 a thread may run in a state that another one has made, and whose
 * number it has: each that has frames is a sample. */
struct thread *sub_stacks_innermost(const struct thread_list *list, struct thread *thread)
{
    if (!knows_places(list) && sub_stacks_has_frames(thread))
        return thread;
    while (thread->later)
        thread = thread->later;
    struct thread *innermost = thread;
    for (struct thread *at = thread->earlier; at; at = at->earlier)
        if (runs_inside(list, at, innermost))
            innermost = at;
    return innermost;
}
