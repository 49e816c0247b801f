#include "sampler/kernel/decode.h"

#include <stdint.h>
#include <string.h>

#include "sampler/native/native_copy.h"

_Static_assert((int)KERNEL_MAX_STACK_SPANS <= (int)UNWIND_MAX_SPANS, "");
_Static_assert((int)MACHINE_SAVED <= (int)KERNEL_MAX_SAVED, "");

static bool is_number(unsigned id)
{
    return id && id <= INT32_MAX;
}

/* A tail is part of the spans, or it would come after them. */
static bool has_tail_in_place(const struct kernel_record *head)
{
    return !head->same_ns && head->tail_ns <= head->time_ns && head->tail_at % 8 == 0 &&
           (head->tail_ns ? head->tail_at == head->bytes : head->tail_at <= head->bytes);
}

bool kernel_decode(const void *data, size_t bytes, struct kernel_record *record,
                   const void **spans)
{
    struct kernel_record head;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    const size_t rest = bytes - sizeof head;
    if (!is_number(head.pid) || !is_number(head.tid) || head.bytes > KERNEL_AREA_BYTES ||
        head.native_bytes > KERNEL_NATIVE_BYTES ||
        head.kernel_bytes > KERNEL_MAX_CALLS * sizeof(uint64_t) ||
        head.kernel_bytes % sizeof(uint64_t) ||
        head.bytes + head.native_bytes + head.kernel_bytes != rest)
        return false;
    const bool has_stack = head.kind == KERNEL_TICK || head.kind == KERNEL_LEFT ||
                           head.kind == KERNEL_FAULT || head.kind == KERNEL_COPY ||
                           head.kind == KERNEL_FREE;
    if ((head.native_bytes || head.kernel_bytes) && !has_stack)
        return false;
    if (head.kind != KERNEL_RETURNED && head.same_ns &&
        (!has_stack || head.native_bytes || head.same_ns > head.time_ns))
        return false;
    if (head.tail_at ? !has_stack || !has_tail_in_place(&head) : head.tail_ns != 0)
        return false;
    switch (head.kind) {
    case KERNEL_TICK:
        if (!head.instants || head.instants > KERNEL_MAX_INSTANTS)
            return false;
        break;
    case KERNEL_FAULT:
    case KERNEL_COPY:
    case KERNEL_FREE:
        if (!head.instants || head.instants > KERNEL_MAX_PAGES)
            return false;
        break;
    case KERNEL_LEFT: break;
    case KERNEL_RETURNED:
        if (rest || head.left_ns > head.time_ns)
            return false;
        if (head.woken_ns && (head.woken_ns < head.left_ns || head.woken_ns > head.time_ns))
            return false;
        break;
    case KERNEL_CODE:
        if (!rest || rest > KERNEL_CODE_BYTES)
            return false;
        break;
    case KERNEL_UNKNOWN:
        if (rest)
            return false;
        break;
    default: return false;
    }
    *record = head;
    *spans = (const unsigned char *)data + sizeof head;
    return true;
}

/* Takes the next span of the `*bytes` bytes at *at.  false: it is not whole. */
static bool take_span(const unsigned char **at, size_t *bytes, struct native_span *out)
{
    struct kernel_span head;
    if (*bytes < sizeof head)
        return false;
    memcpy(&head, *at, sizeof head);
    const size_t padded = ((size_t)head.bytes + 7) / 8 * 8, rest = *bytes - sizeof head;
    if (!head.bytes || head.bytes > KERNEL_MAX_STACK || padded > rest)
        return false;
    *out = (struct native_span){ head.addr, *at + sizeof head, head.bytes };
    *at += sizeof head + padded;
    *bytes = rest - padded;
    return true;
}

/* `from`: where the span before it ends. */
static bool is_in_place(const struct native_span *span, remote_addr from, remote_addr base)
{
    const remote_addr limit = base ? base : UINT64_MAX;
    return span->addr >= from && span->addr <= limit && span->count <= limit - span->addr;
}

bool kernel_decode_native(const struct kernel_record *record, const void *spans,
                          struct native_copy *out, struct kernel_outer_place *outer_out)
{
    const unsigned char *at = (const unsigned char *)spans + record->bytes;
    size_t bytes = record->native_bytes;
    struct kernel_native head;
    remote_addr from = 0;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    bytes -= sizeof head;
    *out = (struct native_copy){
        .registers = { .ip = head.ip, .sp = head.sp, .outer_sp = head.outer_sp },
        .stack.base = head.base,
        .is_cut = record->flags & KERNEL_STACK_CUT,
        .is_faulted = record->flags & KERNEL_STACK_FAULTED,
    };
    memcpy(out->registers.saved, head.saved, sizeof out->registers.saved);
    while (bytes) {
        struct native_span *const span = &out->stack.spans[out->stack.span_count];
        if (out->stack.span_count++ == KERNEL_MAX_STACK_SPANS ||
            !take_span(&at, &bytes, span) || !is_in_place(span, from, head.base))
            return false;
        from = span->addr + span->count;
    }
    *outer_out = (struct kernel_outer_place){ head.outer_from, head.outer_ns };

    /* A stack with an outer part has one span: it ends there, or holds it. */
    const struct native_stack *const stack = &out->stack;
    const struct native_span *const span = stack->spans;
    if (!outer_out->from)
        return !outer_out->ns;
    return stack->span_count == 1 && outer_out->from > span->addr &&
           outer_out->from < stack->base && stack->base - outer_out->from <= KERNEL_MAX_STACK &&
           outer_out->ns <= record->time_ns &&
           span->addr + span->count == (outer_out->ns ? outer_out->from : stack->base);
}
