/*
 * native - copies the registers of the current thread and its C stack.  A part of stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_NATIVE_BPF_H
#define SAMPLER_KERNEL_NATIVE_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/outer.bpf.h"
#include "sampler/kernel/task.bpf.h"

enum {
    FIRST_SAVED_REGISTER = 19, /* of aarch64 */
    PSTATE_32_BIT = 0x10,
    USER_CODE_64 = 0x33, /* the code segment of a thread that runs 64-bit code */
    SEGMENT_MASK = 0xffff
};

/* Native stacks are not copied where the kernel lacks some of it. */
static __always_inline int is_x86_64(void)
{
    return bpf_core_field_exists(struct pt_regs, ip) &&
           bpf_core_field_exists(struct pt_regs, sp) &&
           bpf_core_field_exists(struct pt_regs, bx) &&
           bpf_core_field_exists(struct pt_regs, bp) &&
           bpf_core_field_exists(struct pt_regs, r10) &&
           bpf_core_field_exists(struct pt_regs, r12) &&
           bpf_core_field_exists(struct pt_regs, r13) &&
           bpf_core_field_exists(struct pt_regs, r14) &&
           bpf_core_field_exists(struct pt_regs, r15) &&
           bpf_core_field_exists(struct pt_regs, cs) &&
           bpf_core_field_exists(struct task_struct, thread) &&
           bpf_core_field_exists(struct thread_struct, fsbase);
}

static __always_inline int is_aarch64(void)
{
    return bpf_core_field_exists(struct pt_regs___aarch64, regs) &&
           bpf_core_field_exists(struct pt_regs___aarch64, sp) &&
           bpf_core_field_exists(struct pt_regs___aarch64, pc) &&
           bpf_core_field_exists(struct pt_regs___aarch64, pstate) &&
           bpf_core_field_exists(struct thread_struct___aarch64, uw.tp_value);
}

static __always_inline __u64 red_zone(void)
{
    return is_x86_64() ? KERNEL_RED_ZONE_BYTES : 0;
}

/* The registers of the current thread in its own code, and its thread pointer.  false: it runs 32-bit code. */
static __always_inline int read_registers(struct task_struct *task,
                                          struct kernel_native *native, __u64 *thread_pointer)
{
    void *const found = (void *)bpf_task_pt_regs(task);
    if (is_x86_64()) {
        struct pt_regs *const regs = found;
        if ((regs->cs & SEGMENT_MASK) != USER_CODE_64)
            return 0;
        native->ip = regs->ip;
        native->sp = regs->sp;
        native->outer_sp = regs->r10;
        native->saved[0] = regs->bx;
        native->saved[1] = regs->bp;
        native->saved[2] = regs->r12;
        native->saved[3] = regs->r13;
        native->saved[4] = regs->r14;
        native->saved[5] = regs->r15;
        *thread_pointer = BPF_CORE_READ(task, thread.fsbase);
        return 1;
    }
    if (is_aarch64()) {
        struct pt_regs___aarch64 *const regs = found;
        if (regs->pstate & PSTATE_32_BIT)
            return 0;
        native->ip = regs->pc;
        native->sp = regs->sp;
        native->outer_sp = 0;
#pragma unroll
        for (int i = 0; i < KERNEL_MAX_SAVED; i++)
            native->saved[i] = regs->regs[FIRST_SAVED_REGISTER + i];
        struct task_struct___aarch64 *const same = (void *)task;
        *thread_pointer = BPF_CORE_READ(same, thread.uw.tp_value);
        return 1;
    }
    return 0;
}

/* The C library puts a thread's descriptor above its stack.  The first thread's lies elsewhere. */
static __always_inline __u64 stack_base(struct task_struct *task, __u64 sp, __u64 descriptor)
{
    const __u64 start = BPF_CORE_READ(task, mm, start_stack);
    if (sp < descriptor && descriptor < start)
        return descriptor;
    return sp < start ? start : 0;
}

/* From where on all memory up to `to` is there, at least from `from`. */
__noinline __u64 reach_down(__u64 from, __u64 to)
{
    unsigned char byte;
    for (int i = 0; i < STACK_PAGES && from < to; i++) {
        if (bpf_probe_read_user(&byte, sizeof byte, (void *)(to - 1)))
            return to;
        to = (to - 1) & ~(__u64)(PAGE_BYTES - 1);
    }
    return from < to ? to : from;
}

/* The innermost part, from the bytes below the stack pointer on.  Returns up to where it was copied. */
static __noinline __u64 put_inner_stack(struct area *a, __u64 sp, __u64 to)
{
    __u64 from = sp - red_zone();
    if (put_stack(a, from, to))
        return to;
    /* Memory below the stack pointer may never have been touched: then nothing is in it. */
    __u64 reached = reach_up(from, to);
    if (reached == from) {
        from = sp;
        reached = reach_up(from, to);
    }
    if (reached > from && !put_stack(a, from, reached))
        reached = from;
    return reached;
}

static __noinline int put_outer_stack(struct area *a, __u64 from, __u64 base)
{
    if (!a || put_stack(a, from, base))
        return 1;
    a->record.flags |= KERNEL_STACK_FAULTED;
    from = reach_down(from, base);
    return from < base && put_stack(a, from, base);
}

static __noinline int put_native_stack(struct area *a, struct kernel_thread *thread, __u64 sp,
                                       __u64 base)
{
    if (!a || !thread || sp < KERNEL_RED_ZONE_BYTES)
        return 0;
    const __u64 from = sp - red_zone();
    const int is_whole = base && base - from <= KERNEL_STACK_BYTES;
    if (!is_whole && base && put_deep_stack(a, thread, from, base))
        return 1;
    const __u64 to = is_whole ? base : from + KERNEL_STACK_PART;
    if (!is_whole)
        a->record.flags |= KERNEL_STACK_CUT;
    const __u64 reached = put_inner_stack(a, sp, to);
    if (reached < to)
        a->record.flags |= KERNEL_STACK_FAULTED;
    if (!base || reached >= base)
        return 1;
    const __u64 outer = base - KERNEL_STACK_PART;
    return put_outer_stack(a, outer > reached ? outer : reached, base);
}

__noinline int put_native(struct area *a, struct kernel_thread *thread)
{
    if (!a || !thread || !bpf_core_field_exists(struct task_struct, mm) ||
        !bpf_core_field_exists(struct mm_struct, start_stack))
        return 0;
    struct task_struct *const task = bpf_get_current_task_btf();
    const __u64 at = a->record.bytes;
    __u64 thread_pointer;
    if (at > KERNEL_AREA_BYTES)
        return 0;
    struct kernel_native *const native = (struct kernel_native *)(a->bytes + at);
    if (!read_registers(task, native, &thread_pointer))
        return 0;
    native->base = stack_base(task, native->sp, thread_pointer);
    native->outer_from = native->outer_ns = 0;
    a->record.native_bytes = sizeof *native;
    return put_native_stack(a, thread, native->sp, native->base);
}

#endif /* SAMPLER_KERNEL_NATIVE_BPF_H */
