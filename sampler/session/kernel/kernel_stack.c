#include "sampler/session/kernel/kernel_stack.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/kernel/decode.h"
#include "sampler/native/native_copy.h"
#include "sampler/session/kernel/kernel_reading.h"
#include "sampler/session/kernel/outer_parts.h"
#include "sampler/session/target.h"

void kernel_stack_deinit(struct kernel_stack *stack)
{
    outer_part_deinit(&stack->outer);
    free(stack->copy);
    free(stack->tail.bytes);
    *stack = (struct kernel_stack){ 0 };
}

static enum err_code copy_spans(struct kernel_stack *stack, const void *spans, size_t bytes)
{
    if (!VEC_RESERVE(stack->copy, stack->room, bytes))
        return ERR_NOMEM;
    if (bytes)
        memcpy(stack->copy, spans, bytes);
    return ERR_OK;
}

/* Takes the tail of a record that has one.  ERR_GONE: it refers to one that we do not have. */
static enum err_code take_tail(struct stack_tail *tail, const struct kernel_record *record,
                               const void *spans)
{
    if (record->tail_ns)
        return record->tail_ns == tail->ns ? ERR_OK : ERR_GONE;
    if (!record->tail_at || tail->ns == record->time_ns)
        return ERR_OK;
    const size_t count = record->bytes - record->tail_at;
    struct kernel_span first = { 0 };
    tail->ns = 0;
    if (!VEC_RESERVE(tail->bytes, tail->room, count))
        return ERR_NOMEM;
    memcpy(tail->bytes, (const unsigned char *)spans + record->tail_at, count);
    memcpy(&first, tail->bytes, count < sizeof first ? count : sizeof first);
    tail->from = first.addr + first.bytes;
    tail->count = count;
    tail->ns = record->time_ns;
    return ERR_OK;
}

/* Shows all spans of a stack. */
static enum err_code show_stack(struct copy_memory *copy, const struct stack_tail *tail,
                                const struct kernel_record *record, const void *spans)
{
    enum err_code rc = copy_memory_show(copy, spans, record->bytes);
    if (!rc && record->tail_ns)
        rc = copy_memory_show_more(copy, tail->bytes, tail->count);
    if (record->tail_at)
        copy_memory_name_tail(copy, tail->ns, tail->from);
    return rc;
}

/* Decodes the native part of a record, and takes the outer part of the C stack if it has that.  false: there is no
 * native part, or it is damaged. */
static bool decode_stack(struct kernel_stacks *stacks, struct kernel_stack *stack,
                         const struct kernel_record *record, const void *spans,
                         struct native_copy *copy, struct kernel_outer_place *outer)
{
    if (!record->native_bytes || !kernel_decode_native(record, spans, copy, outer))
        return false;
    if (outer->from && !outer->ns)
        outer_part_learn(&stack->outer, &stacks->outer_parts, record->time_ns, outer, copy);
    return true;
}

static enum err_code keep_whole(struct kernel_stacks *stacks, struct kernel_stack *stack,
                                const struct kernel_record *record, const void *spans)
{
    struct native_copy native;
    struct kernel_outer_place outer = { 0 };
    stack->known_ns = 0;
    stack->is_counted = false;
    stack->kept = *record;
    const enum err_code taken = take_tail(&stack->tail, record, spans);
    if (taken)
        return taken;
    const bool has_outer =
        decode_stack(stacks, stack, record, spans, &native, &outer) && outer.from && !outer.ns;
    const size_t inner = has_outer ? (size_t)(outer.from - native.stack.spans[0].addr) : 0;
    if (has_outer)
        stack->kept.native_bytes = (uint32_t)(sizeof(struct kernel_native) +
                                              sizeof(struct kernel_span) + (inner + 7) / 8 * 8);
    const enum err_code rc =
        copy_spans(stack, spans, (size_t)record->bytes + stack->kept.native_bytes);
    if (!rc && has_outer) {
        /* The outer part of the copy has been taken: it is left out. */
        unsigned char *const at = stack->copy + stack->kept.bytes;
        struct kernel_native head;
        struct kernel_span span;
        memcpy(&head, at, sizeof head);
        memcpy(&span, at + sizeof head, sizeof span);
        head.outer_ns = stack->kept.time_ns;
        span.bytes = (uint32_t)(outer.from - native.stack.spans[0].addr);
        memcpy(at, &head, sizeof head);
        memcpy(at + sizeof head, &span, sizeof span);
    }
    if (!rc)
        stack->known_ns = record->time_ns;
    return rc;
}

/* The bytes of the kept stack's windows, which come before the state of the thread. */
static size_t window_bytes_of(const struct kernel_stack *stack, const struct thread *thread)
{
    const size_t bytes = stack->kept.bytes;
    const remote_addr tstate = stack->kept.tstate ? stack->kept.tstate : thread->head.addr;
    struct kernel_span span;
    size_t at = 0;
    while (bytes - at >= sizeof span) {
        memcpy(&span, stack->copy + at, sizeof span);
        const size_t padded = sizeof span + ((size_t)span.bytes + 7) / 8 * 8;
        if (span.addr == tstate)
            return at;
        if (padded > bytes - at)
            break;
        at += padded;
    }
    return SIZE_MAX;
}

/* Puts these windows in the place of those of the stack that is kept.  What leads to the value of a ContextVar is among
 * them, so they may be longer or shorter. */
static enum err_code replace_windows(struct kernel_stack *stack, const struct thread *thread,
                                     const void *spans, size_t bytes)
{
    const size_t before = window_bytes_of(stack, thread);
    if (before == SIZE_MAX)
        return ERR_GONE;
    const size_t kept_bytes = stack->kept.bytes - before;
    const size_t rest = kept_bytes + stack->kept.native_bytes;
    if (kept_bytes + bytes > KERNEL_AREA_BYTES)
        return ERR_GONE;
    if (!VEC_RESERVE(stack->copy, stack->room, bytes + rest))
        return ERR_NOMEM;
    memmove(stack->copy + bytes, stack->copy + before, rest);
    memcpy(stack->copy, spans, bytes);
    stack->kept.bytes = (uint32_t)(bytes + kept_bytes);
    if (stack->kept.tail_at)
        stack->kept.tail_at = (uint32_t)(stack->kept.tail_at - before + bytes);
    return ERR_OK;
}

/* The windows are the first spans of a record, so they take the place of the older ones. */
static enum err_code keep_windows(struct kernel_stack *stack, const struct thread *thread,
                                  const struct kernel_record *record, const void *spans)
{
    const bool is_here = !stack->is_counted || thread->stack.is_placed;
    const enum err_code rc = record->same_ns != stack->known_ns || !is_here ? ERR_GONE
                             : stack->is_counted
                                 ? copy_spans(stack, spans, record->bytes)
                                 : replace_windows(stack, thread, spans, record->bytes);
    if (rc == ERR_GONE)
        stack->known_ns = 0;
    if (rc)
        return rc;
    if (stack->is_counted)
        stack->kept = *record;
    return ERR_OK;
}

enum err_code kernel_stack_keep(struct kernel_stacks *stacks, struct kernel_stack *stack,
                                const struct thread *thread, const struct kernel_record *record,
                                const void *spans)
{
    return record->same_ns ? keep_windows(stack, thread, record, spans)
                           : keep_whole(stacks, stack, record, spans);
}

/* Counts a copy of a whole stack. */
static enum err_code count_whole(struct kernel_stacks *stacks, struct kernel_stack *stack,
                                 struct target *target, struct thread *thread,
                                 const struct kernel_record *record, const void *spans,
                                 const struct kernel_instants *instants)
{
    struct kernel_outer_place outer = { 0 };
    struct native_copy native;
    const bool has_native = decode_stack(stacks, stack, record, spans, &native, &outer);
    thread->stack.is_placed = false;
    const enum err_code taken = take_tail(&stack->tail, record, spans);
    if (taken)
        return taken;
    if (show_stack(&stacks->copy, &stack->tail, record, spans) ||
        (record->native_bytes && !has_native)) {
        stacks->damaged += instants->measure == MEASURE_TIME ? instants->times : 0;
        return ERR_OK;
    }
    if (outer.ns)
        outer_part_complete(&stack->outer, &stacks->outer_parts, &outer, &native);
    if (record->flags & KERNEL_NO_ROOM)
        copy_memory_complete(&stacks->copy, &target->process.memory.memory);
    const enum err_code rc = kernel_reading_take(target, thread, &stacks->copy,
                                                 has_native ? &native : NULL, instants);
    return rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
}

/* True if the thread has all that another sample of the stack needs. It has no native stack. */
static bool holds_record(const struct thread *thread, const struct kernel_record *record)
{
    return thread->stack.is_placed && !record->native_bytes;
}

enum err_code kernel_stack_count(struct kernel_stacks *stacks, struct kernel_stack *stack,
                                 struct target *target, struct thread *thread,
                                 const struct kernel_instants *instants)
{
    const struct kernel_record *const kept = &stack->kept;
    if (!stack->is_counted) {
        const enum err_code rc =
            count_whole(stacks, stack, target, thread, kept, stack->copy, instants);
        stack->is_counted = holds_record(thread, kept);
        return rc;
    }
    if (!thread->stack.is_placed || copy_memory_show(&stacks->copy, stack->copy, kept->bytes)) {
        stacks->damaged += instants->measure == MEASURE_TIME ? instants->times : 0;
        return ERR_OK;
    }
    const enum err_code rc = kernel_reading_take_same(target, thread, &stacks->copy, instants);
    return rc == ERR_NOMEM || rc == ERR_LIMIT ? rc : ERR_OK;
}

enum err_code kernel_stack_count_record(struct kernel_stacks *stacks,
                                        struct kernel_stack *stack, struct target *target,
                                        struct thread *thread,
                                        const struct kernel_record *record, const void *spans,
                                        const struct kernel_instants *instants)
{
    if (record->same_ns) {
        const enum err_code rc = keep_windows(stack, thread, record, spans);
        return rc ? rc : kernel_stack_count(stacks, stack, target, thread, instants);
    }
    const enum err_code rc =
        count_whole(stacks, stack, target, thread, record, spans, instants);
    if (rc)
        return rc;
    /* It may be counted again: then what was not found may be known, or what was not wanted be wanted. */
    if (!holds_record(thread, record))
        return keep_whole(stacks, stack, record, spans);
    stack->known_ns = record->time_ns;
    stack->is_counted = true;
    return ERR_OK;
}
