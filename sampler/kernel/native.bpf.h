/*
 * native - copies the registers of the current thread and its C stack.  A part of stacks.bpf.c.
 */
#include "sampler/kernel/outer.bpf.h"

/* Another kernel may lack some of it; its native stacks are not copied. */
static __always_inline int has_native_fields(void)
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
           bpf_core_field_exists(struct task_struct, mm) &&
           bpf_core_field_exists(struct task_struct, thread) &&
           bpf_core_field_exists(struct thread_struct, fsbase) &&
           bpf_core_field_exists(struct mm_struct, start_stack);
}

/* The C library puts a thread's descriptor above its stack.  The first thread's lies elsewhere. */
static __always_inline __u64 stack_base(struct task_struct *task, __u64 sp)
{
    const __u64 descriptor = BPF_CORE_READ(task, thread.fsbase);
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
    __u64 from = sp - KERNEL_RED_ZONE_BYTES;
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
    const __u64 from = sp - KERNEL_RED_ZONE_BYTES;
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
    if (!a || !thread || !has_native_fields())
        return 0;
    struct task_struct *const task = bpf_get_current_task_btf();
    struct pt_regs *const regs = (void *)bpf_task_pt_regs(task);
    const __u64 at = a->record.bytes;
    if (at > KERNEL_AREA_BYTES || (regs->cs & SEGMENT_MASK) != USER_CODE_64)
        return 0;
    struct kernel_native *const native = (struct kernel_native *)(a->bytes + at);
    native->ip = regs->ip;
    native->sp = regs->sp;
    native->bx = regs->bx;
    native->bp = regs->bp;
    native->r10 = regs->r10;
    native->r12 = regs->r12;
    native->r13 = regs->r13;
    native->r14 = regs->r14;
    native->r15 = regs->r15;
    native->base = stack_base(task, regs->sp);
    native->outer_from = native->outer_ns = 0;
    a->record.native_bytes = sizeof *native;
    return put_native_stack(a, thread, native->sp, native->base);
}
