#include "sampler/cpython/threads/thread_windows.h"

/* The range of bytes that holds all fields of this version (those that are not 0). */
static void span_fields(const uint32_t *fields, size_t count, uint32_t *start_out,
                        uint32_t *bytes_out)
{
    uint32_t start = UINT32_MAX, end = 0;
    for (size_t i = 0; i < count; i++) {
        if (fields[i] && fields[i] < start)
            start = fields[i];
        if (fields[i] && fields[i] + sizeof(uint64_t) > end)
            end = fields[i] + (uint32_t)sizeof(uint64_t);
    }
    *start_out = start;
    *bytes_out = end - start;
}

void thread_windows_init(struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    const uint32_t collecting = layout->interp_gc && layout->gc_collecting
                                    ? layout->interp_gc + layout->gc_collecting
                                    : 0;
    const uint32_t gc_frame =
        layout->interp_gc && layout->gc_frame ? layout->interp_gc + layout->gc_frame : 0;
    const uint32_t of_interp[] = { layout->interp_threads_head,
                                   layout->interp_gil_enabled,
                                   layout->interp_gil_locked,
                                   layout->interp_gil_holder,
                                   collecting,
                                   gc_frame,
                                   layout->interp_code_generation };
    const uint32_t of_runtime[] = { layout->runtime_gil_locked, layout->runtime_gil_holder,
                                    layout->runtime_gc_collecting };
    span_fields(of_interp, sizeof of_interp / sizeof *of_interp, &list->window_start,
                &list->window_bytes);
    if (layout->runtime_gil_holder)
        span_fields(of_runtime, sizeof of_runtime / sizeof *of_runtime, &list->runtime_start,
                    &list->runtime_bytes);
}

size_t thread_list_plan_count(const struct thread_list *list)
{
    return (list->runtime_bytes != 0) + list->interpreter_count;
}

void thread_list_plan(struct thread_list *list, struct memory_span *spans)
{
    size_t count = 0;
    if (list->runtime_bytes)
        spans[count++] = (struct memory_span){ list->runtime->addr + list->runtime_start,
                                               list->runtime_window, list->runtime_bytes };
    for (size_t i = 0; i < list->interpreter_count; i++)
        spans[count++] =
            (struct memory_span){ list->interpreters[i].addr + list->window_start,
                                  list->interpreters[i].window, list->window_bytes };
}

bool thread_list_heads_same(const struct thread_list *list)
{
    const struct layout *const layout = &list->runtime->layout;
    bool same = list->interpreter_count != 0;
    for (size_t i = 0; i < list->interpreter_count; i++)
        same = same &&
               thread_list_u64(list, &list->interpreters[i], layout->interp_threads_head) ==
                   list->interpreters[i].first_thread;
    return same;
}

void thread_list_take_windows(struct thread_list *list, const struct thread *thread,
                              struct memory *copy)
{
    if (list->runtime_bytes)
        (void)!memory_read(copy, list->runtime->addr + list->runtime_start,
                           list->runtime_window, list->runtime_bytes);
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].addr == thread->head.interp || list->interpreters[i].id == 0)
            (void)!memory_read(copy, list->interpreters[i].addr + list->window_start,
                               list->interpreters[i].window, list->window_bytes);
}

const struct interpreter *thread_list_interpreter(const struct thread_list *list,
                                                  const struct thread *thread)
{
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].addr == thread->head.interp)
            return &list->interpreters[i];
    return NULL;
}

const struct interpreter *thread_list_main_interpreter(const struct thread_list *list)
{
    for (size_t i = 0; i < list->interpreter_count; i++)
        if (list->interpreters[i].id == 0)
            return &list->interpreters[i];
    return NULL;
}

void thread_list_set_generation(const struct thread_list *list, struct thread *thread)
{
    const uint32_t offset = list->runtime->layout.interp_code_generation;
    const struct interpreter *const interp = thread_list_interpreter(list, thread);
    if (offset && interp)
        thread->stack.copy.generation = thread_list_u64(list, interp, offset);
}
