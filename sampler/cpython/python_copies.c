#include "sampler/cpython/python_copies.h"

#include "sampler/base/clock.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/contexts/thread_contexts.h"
#include "sampler/cpython/python_parts.h"
#include "sampler/cpython/threads/sub_interpreter_stacks.h"

enum err_code python_list_threads(struct python *python, bool *changed_out)
{
    const uint64_t listing = python->threads.listing;
    const uint64_t now_ns = clock_now_ns();
    python_clear_if_needed(python, now_ns);
    /* Before 3.11, a new thread may look like one that has ended, and only the kernel knows them apart. */
    python->names_read_ns = 0;
    const enum err_code rc = python_refresh_threads(python, false, now_ns);
    if (!rc && python->contexts)
        contexts_locate(python->contexts, now_ns);
    *changed_out = python->threads.listing != listing;
    return rc;
}

uint64_t python_begin_copies(struct python *python)
{
    python_clear_if_needed(python, clock_now_ns());
    /* Objects that were read before are older than the copies that come now. */
    code_begin_epoch(&python->codes);
    return python->codes.counters.clears;
}

enum err_code python_learn_code(struct python *python, struct memory *memory, remote_addr addr)
{
    return code_learn(&python->codes, memory, addr);
}

bool python_check_code(struct python *python, remote_addr addr)
{
    const code_id id = code_find(&python->codes, addr, 0);
    code_begin_epoch(&python->codes);
    return id != CODE_NONE && code_check(&python->codes, &id, 1);
}

struct thread_windows python_windows(const struct python *python, const struct thread *thread)
{
    const struct thread_list *const list = &python->threads;
    const struct interpreter *const main =
        thread && thread->interp_id ? thread_list_main_interpreter(list) : NULL;
    struct copy copy;
    copy_init(&copy, NULL, &python->runtime.layout, 0, 0);
    return (struct thread_windows){
        .runtime = python->runtime.addr + list->runtime_start,
        .runtime_bytes = list->runtime_bytes,
        .interpreter = thread ? thread->head.interp + list->window_start : 0,
        .interpreter_bytes = thread ? list->window_bytes : 0,
        .main_interpreter = main ? main->addr + list->window_start : 0,
        .tstate_bytes = (uint32_t)copy.tstate_bytes,
    };
}

uint32_t python_window_offset(const struct python *python)
{
    return python->threads.window_start;
}

/* CPython adds interpreters at the head of their list. */
size_t python_searched_interpreters(const struct python *python, remote_addr *out, size_t max)
{
    const struct thread_list *const list = &python->threads;
    size_t count = 0;
    if (!python->runtime.layout.has_state_per_interpreter ||
        list->interpreter_count > max + !list->has_lent)
        return 0;
    for (size_t i = 0; i < list->interpreter_count && count < max; i++)
        if (list->interpreters[i].id || list->has_lent)
            out[count++] = list->interpreters[i].addr;
    return count;
}

void python_search_context(struct python *python, uint64_t now_ns)
{
    if (python->contexts)
        contexts_search(python->contexts, now_ns);
}

bool python_context_trail(const struct python *python, struct contexts_trail *out)
{
    if (python->contexts)
        contexts_trail(python->contexts, out);
    return python->contexts != NULL;
}

size_t python_span_trails(const struct python *python,
                          struct thread_local_trail out[THREAD_LOCALS_MAX])
{
    return python->thread_contexts ? thread_contexts_trails(python->thread_contexts, out) : 0;
}

bool python_lends_states(const struct python *python)
{
    return python->threads.has_lent;
}

/* Who copied it knows that the thread is in this state. */
static enum err_code report_copied(struct thread *thread, enum err_code rc,
                                   python_sample_fn on_sample, void *context)
{
    return rc == ERR_NOMEM || (rc == ERR_GONE && thread->is_main)
               ? rc
               : on_sample(context, thread, rc);
}

enum err_code python_take_copy(struct python *python, struct thread *thread,
                               const struct python_copy *taken, python_sample_fn on_sample,
                               void *context)
{
    struct copy *const copy = &thread->stack.copy;
    struct memory *const process = copy->memory;
    thread_list_take_windows(&python->threads, thread, taken->memory);
    thread_list_set_generation(&python->threads, thread);
    copy->memory = taken->memory;
    copy->taken_ns = taken->taken_ns;
    copy->tail = taken->tail;
    copy->is_still = true;
    python->codes.is_described = taken->is_whole;
    enum err_code rc = stack_read(&thread->stack, &python->codes);
    if (!rc && os_threads_may_lend(&python->os_threads))
        rc = os_threads_note_place(&python->os_threads, thread);
    rc = report_copied(thread, rc, on_sample, context);
    python->codes.is_described = false;
    copy->memory = process;
    copy->is_still = false;
    copy->taken_ns = 0;
    copy->tail = (struct copy_tail){ 0 };
    return rc;
}

enum err_code python_repeat(struct python *python, struct thread *thread, struct memory *copy,
                            python_sample_fn on_sample, void *context)
{
    thread_list_take_windows(&python->threads, thread, copy);
    thread_list_set_generation(&python->threads, thread);
    thread->stack.is_unchanged = true;
    return report_copied(thread, ERR_OK, on_sample, context);
}

enum err_code python_read_waiting(struct python *python, struct thread *thread,
                                  python_sample_fn on_sample, void *context)
{
    enum err_code rc = ERR_OK;
    bool have_any_moved = false;
    while (thread->later)
        thread = thread->later;
    for (struct thread *at = thread; at; at = at->earlier) {
        struct stack *const stack = &at->stack;
        thread_list_take_windows(&python->threads, at, &python->process->memory.memory);
        thread_list_set_generation(&python->threads, at);
        enum err_code outcome = stack_read(stack, &python->codes);
        /* The first reading predicts nothing, so it cannot be certain. */
        if (!outcome && stack->certainty != STACK_EXACT)
            outcome = stack_read(stack, &python->codes);

        bool has_moved = false;
        rc = at == thread ? outcome : rc;
        if (outcome)
            at->stack.count = 0;
        else if (python->runtime.layout.has_state_per_interpreter &&
                 os_threads_may_lend(&python->os_threads) &&
                 os_threads_place(&python->os_threads, at, &has_moved))
            return ERR_NOMEM;
        have_any_moved |= has_moved;
    }
    /* The kernel engine finds them in that thread from now on. */
    if (have_any_moved) {
        sub_stacks_find(&python->threads);
        return ERR_OK;
    }
    /* Until 3.12 it is not known here in which thread each state runs: a thread is in the one that it has made. */
    struct thread *const innermost =
        !python->runtime.layout.has_state_per_interpreter && sub_stacks_has_frames(thread)
            ? thread
            : sub_stacks_innermost(&python->threads, thread);
    rc = innermost == thread ? rc : ERR_OK;
    return !rc && sub_stacks_is_spare(innermost)
               ? ERR_OK
               : report_copied(innermost, rc, on_sample, context);
}

struct thread *python_visit(struct python *python, struct thread *thread, remote_addr tstate,
                            remote_addr interp)
{
    return thread_list_visit(&python->threads, thread, tstate, interp);
}
