#include "sampler/cpython/threads/thread_state.h"

#include "sampler/cpython/objects/object.h"

static uint64_t runtime_u64(const struct thread_list *list, uint32_t offset)
{
    return field_u64(list->runtime_window, offset - list->runtime_start);
}

static enum three_valued three_valued_of(bool value)
{
    return value ? VALUE_YES : VALUE_NO;
}

static bool has_enabled_gil(const struct thread_list *list, const struct interpreter *interp)
{
    const uint32_t enabled = list->runtime->layout.interp_gil_enabled;
    return interp && enabled && (uint32_t)thread_list_u64(list, interp, enabled) != 0;
}

/* A free-threaded build has a GIL too, which is in use only when it has been asked for.  An interpreter that shares
 * the main one's has another, unused. */
static bool is_without_gil(const struct thread_list *list, const struct thread *thread)
{
    return list->runtime->layout.is_free_threaded &&
           !has_enabled_gil(list, thread_list_interpreter(list, thread)) &&
           !has_enabled_gil(list, thread_list_main_interpreter(list));
}

bool thread_state_knows_gil(const struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    return layout->runtime_gil_holder || layout->interp_gil_holder;
}

/* Items of queues that are read for a thread, in all interpreters together. */
enum { MAX_QUEUED = 64 };

/* A condition of musl names the item that was queued last, which is on the stack of the thread that waits at a word of it; each
 * names the one before.  Source: pthread_cond_timedwait.c of 1.1 and 1.2, with the sizes of its conditions and mutexes. */
static bool is_in_queue(struct memory *memory, remote_addr condition, remote_addr word,
                        unsigned *left)
{
    enum { LAST = 8, BEFORE = 8, WORD = 20 };
    remote_addr item;
    if (memory_read(memory, condition + LAST, &item, sizeof item))
        return false;
    for (; item && *left; --*left) {
        if (item + WORD == word)
            return true;
        if (memory_read(memory, item + BEFORE, &item, sizeof item))
            return false;
    }
    return false;
}

/* The two conditions of a GIL: for who wants it, and for who has let it go and lets another one take it. */
static bool is_queued_at_gil(const struct thread_list *list, remote_addr locked,
                             remote_addr word, remote_addr sp, unsigned *left)
{
    enum { FIRST = 16, SECOND = FIRST + 48 + 40, FRAME_BYTES = 512 };
    if (!sp || word - sp >= FRAME_BYTES)
        return false;
    return is_in_queue(list->memory, locked + FIRST, word, left) ||
           is_in_queue(list->memory, locked + SECOND, word, left);
}

static bool is_at_gil(const struct thread_list *list, remote_addr locked, remote_addr word,
                      remote_addr sp, unsigned *left)
{
    /* `locked` is followed by a counter and by two pairs of a condition and a mutex: 48 bytes each at most. */
    enum { GIL_BYTES = 16 + 4 * 48 };
    return (word >= locked && word - locked < GIL_BYTES) ||
           is_queued_at_gil(list, locked, word, sp, left);
}

/* A GIL is that of the runtime, or of one interpreter. */
static size_t count_gils(const struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    return layout->runtime_gil_locked  ? 1
           : layout->interp_gil_locked ? list->interpreter_count
                                       : 0;
}

/* The place of its field `locked`. */
static remote_addr find_locked(const struct thread_list *list, size_t index)
{
    const struct layout *const layout = &list->runtime->layout;
    return layout->runtime_gil_locked
               ? list->runtime->addr + layout->runtime_gil_locked
               : list->interpreters[index].addr + layout->interp_gil_locked;
}

static bool read_gil(const struct thread_list *list, size_t index, struct gil *out)
{
    enum { SWITCHES = 8 };
    const struct layout *const layout = &list->runtime->layout;
    const bool is_of_runtime = layout->runtime_gil_locked != 0;
    const remote_addr locked = find_locked(list, index);
    const remote_addr holder = is_of_runtime
                                   ? list->runtime->addr + layout->runtime_gil_holder
                                   : list->interpreters[index].addr + layout->interp_gil_holder;
    uint32_t is_locked;
    *out = (struct gil){ .addr = locked,
                         .interp_id = is_of_runtime ? 0 : list->interpreters[index].id };
    if (memory_read_u64(list->memory, locked + SWITCHES, &out->switches) ||
        memory_read_u64(list->memory, holder, &out->holder) ||
        memory_read(list->memory, locked, &is_locked, sizeof is_locked))
        return false;
    if (is_locked != 1)
        out->holder = 0;
    return true;
}

/* SIZE_MAX: none. */
static size_t find_gil(const struct thread_list *list, remote_addr word, remote_addr sp)
{
    unsigned left = MAX_QUEUED;
    const size_t count = count_gils(list);
    for (size_t i = 0; i < count; i++)
        if (is_at_gil(list, find_locked(list, i), word, sp, &left))
            return i;
    return SIZE_MAX;
}

bool thread_state_is_gil(const struct thread_list *list, remote_addr word, remote_addr sp)
{
    return find_gil(list, word, sp) != SIZE_MAX;
}

bool thread_state_waited_gil(const struct thread_list *list, remote_addr word, remote_addr sp,
                             struct gil *out)
{
    const size_t found = find_gil(list, word, sp);
    return found != SIZE_MAX && read_gil(list, found, out);
}

/* An interpreter may have its own GIL or share the main one's; a GIL names the thread that holds it. */
static enum three_valued has_gil(const struct thread_list *list, const struct thread *thread)
{
    const struct layout *const layout = &list->runtime->layout;
    if (layout->runtime_gil_holder)
        return three_valued_of((uint32_t)runtime_u64(list, layout->runtime_gil_locked) == 1 &&
                               runtime_u64(list, layout->runtime_gil_holder) ==
                                   thread->head.addr);
    if (!thread_state_knows_gil(list))
        return VALUE_UNKNOWN;
    if (is_without_gil(list, thread))
        return VALUE_NO;
    for (size_t i = 0; i < list->interpreter_count; i++) {
        const struct interpreter *const interp = &list->interpreters[i];
        if ((uint32_t)thread_list_u64(list, interp, layout->interp_gil_locked) == 1 &&
            thread_list_u64(list, interp, layout->interp_gil_holder) == thread->head.addr)
            return VALUE_YES;
    }
    return VALUE_NO;
}

bool thread_state_read_gil(const struct thread_list *list, remote_addr addr, struct gil *out)
{
    const size_t count = count_gils(list);
    for (size_t i = 0; i < count; i++)
        if (find_locked(list, i) == addr)
            return read_gil(list, i, out);
    return false;
}

bool thread_state_held_gil(const struct thread_list *list, const struct thread *thread,
                           struct gil *out)
{
    const struct layout *const layout = &list->runtime->layout;
    /* A hostile process may have many: only that is read which the last tick saw in the thread's hands. */
    if (has_gil(list, thread) != VALUE_YES)
        return false;
    const size_t count = count_gils(list);
    for (size_t i = 0; i < count; i++)
        if (layout->runtime_gil_locked ||
            thread_list_u64(list, &list->interpreters[i], layout->interp_gil_holder) ==
                thread->head.addr)
            return read_gil(list, i, out) && out->holder == thread->head.addr;
    return false;
}

/* There is one None, and it is never freed: an object at another address is not None. */
static enum three_valued is_none(struct thread_list *list, remote_addr object)
{
    const struct layout *const layout = &list->runtime->layout;
    uint64_t type;
    if (object == list->none || object == list->exception)
        return three_valued_of(object == list->none);
    if (memory_read_u64(list->memory, object + layout->object_type, &type))
        return VALUE_UNKNOWN;
    const bool is = object_type_is(list->memory, layout, type, "NoneType");
    *(is ? &list->none : &list->exception) = object;
    return three_valued_of(is);
}

/* In 3.11 the place of exceptions is unknown. */
bool thread_state_knows_exceptions(const struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    return layout->tstate_current_exception && layout->tstate_exc_state;
}

/* 3.12 stores None where an exception was handled below a coroutine. */
static enum three_valued has_exception(struct thread_list *list, const unsigned char *tstate)
{
    const struct layout *const layout = &list->runtime->layout;
    if (!thread_state_knows_exceptions(list))
        return VALUE_UNKNOWN;
    const remote_addr handled = field_u64(tstate, layout->tstate_exc_state);
    if (field_u64(tstate, layout->tstate_current_exception))
        return VALUE_YES;
    const enum three_valued none = handled ? is_none(list, handled) : VALUE_YES;
    return none == VALUE_UNKNOWN ? VALUE_UNKNOWN : three_valued_of(none == VALUE_NO);
}

struct thread_state thread_state_of(struct thread_list *list, const struct thread *thread)
{
    const struct layout *const layout = &list->runtime->layout;
    const unsigned char *const tstate = thread->stack.copy.tstate;
    struct thread_state state = { .has_gil = has_gil(list, thread) };
    if (state.has_gil == VALUE_YES || is_without_gil(list, thread))
        state.waits_gil = VALUE_NO;
    else if (layout->tstate_gil_requested)
        state.waits_gil = three_valued_of(field_u32(tstate, layout->tstate_gil_requested) != 0);

    /* The thread that collects garbage holds the GIL, unless a finalizer releases it.  Without a GIL it is
     * unknown which thread collects; only that no thread does can be known. */
    const struct interpreter *const interp = thread_list_interpreter(list, thread);
    if (layout->runtime_gc_collecting && layout->runtime_gil_holder)
        state.in_gc =
            three_valued_of((uint32_t)runtime_u64(list, layout->runtime_gc_collecting) != 0 &&
                            state.has_gil == VALUE_YES);
    if (interp && state.has_gil != VALUE_UNKNOWN && layout->interp_gc &&
        layout->gc_collecting) {
        const bool collecting =
            (uint32_t)thread_list_u64(list, interp,
                                      layout->interp_gc + layout->gc_collecting) != 0;
        if (!collecting || !is_without_gil(list, thread))
            state.in_gc = three_valued_of(collecting && state.has_gil == VALUE_YES);
        if (collecting && layout->gc_frame)
            state.gc_frame =
                thread_list_u64(list, interp, layout->interp_gc + layout->gc_frame);
    }

    state.has_exception = has_exception(list, tstate);
    return state;
}
