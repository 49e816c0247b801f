#include "sampler/native/native_copy.h"

/* The C library puts a thread's descriptor above its stack.  The first thread's lies elsewhere. */
static remote_addr base_of(remote_addr sp, remote_addr descriptor, remote_addr stack_start)
{
    if (sp < descriptor && descriptor < stack_start)
        return descriptor;
    return sp < stack_start ? stack_start : 0;
}

/* Adds the bytes of a span that have arrived. */
static void add_span(struct native_stack *stack, const struct memory_span *span, size_t arrived)
{
    const size_t bytes = arrived < span->bytes ? arrived : span->bytes;
    if (bytes)
        stack->spans[stack->span_count++] =
            (struct native_span){ span->addr, span->buffer, bytes };
}

/* The first reading ended early, after `arrived` bytes of the innermost part.  Copies what else is there. */
static enum err_code read_rest(struct memory *memory, struct memory_span inner, size_t arrived,
                               unsigned char *outer_bytes, struct native_copy *out)
{
    const remote_addr base = out->stack.base, lowest = base - NATIVE_COPY_PART_BYTES;
    enum err_code rc = ERR_FAULT;
    /* Memory below the stack pointer may not be there: then nothing is in it. */
    if (!arrived) {
        inner.addr += MACHINE_RED_ZONE_BYTES;
        inner.buffer = (unsigned char *)inner.buffer + MACHINE_RED_ZONE_BYTES;
        inner.bytes -= MACHINE_RED_ZONE_BYTES;
        rc = memory_readv(memory, &inner, 1, &arrived);
    }
    add_span(&out->stack, &inner, arrived);
    out->is_faulted = rc;
    const remote_addr reached = inner.addr + arrived;
    if ((rc && rc != ERR_FAULT) || !base || reached >= base)
        return rc == ERR_FAULT ? ERR_OK : rc;
    const remote_addr from = reached > lowest ? reached : lowest;
    const struct memory_span outer = { from, outer_bytes + (from - lowest), base - from };
    rc = memory_readv(memory, &outer, 1, &arrived);
    add_span(&out->stack, &outer, arrived);
    out->is_faulted = out->is_faulted || rc;
    return rc == ERR_FAULT ? ERR_OK : rc;
}

/* Copies from below the stack pointer to the base.  The registers and the base are known. */
static enum err_code read_stack(struct memory *memory, unsigned char bytes[NATIVE_COPY_BYTES],
                                struct native_copy *out)
{
    struct native_stack *const stack = &out->stack;
    const remote_addr sp = out->registers.sp, base = stack->base;
    size_t arrived = 0;
    const remote_addr from = sp - MACHINE_RED_ZONE_BYTES;
    if (from > sp || sp > UINT64_MAX - NATIVE_COPY_BYTES)
        return ERR_OK;
    out->is_cut = !base || base - from > NATIVE_COPY_BYTES;
    const struct memory_span spans[] = {
        { from, bytes, out->is_cut ? NATIVE_COPY_PART_BYTES : base - from },
        { base - NATIVE_COPY_PART_BYTES, bytes + NATIVE_COPY_PART_BYTES,
          NATIVE_COPY_PART_BYTES },
    };
    const size_t count = out->is_cut && base ? 2 : 1;
    const enum err_code outcome = memory_readv(memory, spans, count, &arrived);
    if (outcome && outcome != ERR_FAULT)
        return outcome;
    if (!outcome) {
        for (size_t i = 0; i < count; i++)
            add_span(stack, &spans[i], spans[i].bytes);
        return ERR_OK;
    }
    if (arrived > spans[0].bytes)
        arrived = spans[0].bytes;
    return read_rest(memory, spans[0], arrived, bytes + NATIVE_COPY_PART_BYTES, out);
}

enum err_code native_copy_read_known(struct memory *memory,
                                     const struct native_registers *registers,
                                     remote_addr descriptor, remote_addr stack_start,
                                     unsigned char bytes[NATIVE_COPY_BYTES],
                                     struct native_copy *out)
{
    *out = (struct native_copy){
        .registers = *registers,
        .stack.base = base_of(registers->sp, descriptor, stack_start),
    };
    return read_stack(memory, bytes, out);
}

enum err_code native_copy_read(struct memory *memory, int32_t tid, remote_addr stack_start,
                               unsigned char bytes[NATIVE_COPY_BYTES], struct native_copy *out)
{
    struct native_registers registers;
    remote_addr descriptor;
    const enum err_code rc = machine_read_registers(tid, &registers, &descriptor);
    return rc ? rc
              : native_copy_read_known(memory, &registers, descriptor, stack_start, bytes, out);
}

enum err_code native_copy_read_waiting(struct memory *memory, const struct system_call *call,
                                       remote_addr stack_start,
                                       unsigned char bytes[NATIVE_COPY_BYTES],
                                       struct native_copy *out)
{
    *out = (struct native_copy){
        .registers = { .ip = call->ip, .sp = call->sp, .has_only_sp = true },
        .stack.base = base_of(call->sp, 0, stack_start),
    };
    return read_stack(memory, bytes, out);
}
