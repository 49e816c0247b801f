/*
 * fault - which page faults are sampled, and how many pages one makes resident.  A part of stacks.bpf.c.
 *
 * Each thread has a gap: its faults from one sample to the next.  The gap follows how fast they come, so that in the long run
 * a thread has a sample each fault_ns at most, and is known before the fault that it chooses: so what a sample shows
 * has no influence on how much it stands for.  Memory often grows in bursts of some milliseconds, so samples may come
 * FAULT_HASTE times as fast for a while.
 */
#ifndef SAMPLER_KERNEL_FAULT_BPF_H
#define SAMPLER_KERNEL_FAULT_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/task.bpf.h"

enum {
    FAULT_BURST = 1024, /* samples that may come fast, half of them at most */
    FAULT_HASTE = 32,
    FAULT_MAX_GAP = 1 << 20,
    /* The address of the fault is there in the context of the program, behind the registers. */
    X86_FAULT_ADDR = 176,
    AARCH64_FAULT_ADDR = 280
};

static const __u64 FLAG_HUGE = 0x20000000,
                   FLAG_NO_HUGE = 0x40000000; /* VM_HUGEPAGE, VM_NOHUGEPAGE */

/* How many faults of the thread this one stands for; 0: it is not sampled. */
static __noinline __u64 faults_due(struct kernel_thread *thread)
{
    struct task_struct *const task = (void *)bpf_get_current_task();
    const __u64 slow_ns = switches.fault_ns;
    if (!thread || !slow_ns)
        return 0;
    /* The kernel counts this one later. */
    const __u64 faults = BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt) + 1;
    const __u64 now_ns = bpf_ktime_get_ns();
    if (!thread->fault_ns) {
        const __u64 period = switches.fault_period;
        thread->faults = faults > period ? faults - period : 0;
        thread->fault_room_ns = FAULT_BURST * slow_ns;
        thread->fault_ns = now_ns;
    }
    const __u64 due = faults - thread->faults;
    if (due < thread->fault_gap || !due)
        return 0;
    const __u64 since_ns = now_ns - thread->fault_ns;
    __u64 room_ns = thread->fault_room_ns + since_ns;
    if (room_ns > FAULT_BURST * slow_ns)
        room_ns = FAULT_BURST * slow_ns;
    const __u64 aim_ns = room_ns > FAULT_BURST / 2 * slow_ns ? slow_ns / FAULT_HASTE : slow_ns;
    thread->fault_room_ns = room_ns > slow_ns ? room_ns - slow_ns : 0;
    __u64 gap = due > FAULT_MAX_GAP ? FAULT_MAX_GAP : due * aim_ns / (since_ns + 1);
    if (gap > 2 * due + 1)
        gap = 2 * due + 1;
    thread->fault_gap = gap > FAULT_MAX_GAP ? FAULT_MAX_GAP : gap;
    thread->fault_ns = now_ns;
    thread->faults = faults;
    return due;
}

/* The verifier wants a constant offset in the instruction itself, which a compiler would add to the pointer. */
static __always_inline __u64 fault_addr(const void *context)
{
    __u64 addr = 0;
    if (bpf_core_field_exists(struct pt_regs, orig_ax))
        asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(addr) : "r"(context), "i"(X86_FAULT_ADDR));
    else if (bpf_core_field_exists(struct pt_regs___aarch64, syscallno))
        asm volatile("%0 = *(u64 *)(%1 + %2)"
                     : "=r"(addr)
                     : "r"(context), "i"(AARCH64_FAULT_ADDR));
    return addr;
}

static __always_inline int is_resident(__u64 addr)
{
    unsigned char byte;
    return !bpf_probe_read_user(&byte, sizeof byte, (void *)addr);
}

struct huge_search {
    __u64 block, bytes;
    int fits;
};

/* Memory of no file, large enough, for which huge pages are wanted. */
static long check_huge(struct task_struct *task, struct vm_area_struct *area,
                       struct huge_search *search)
{
    const __u64 flags = BPF_CORE_READ(area, vm_flags);
    search->fits = !BPF_CORE_READ(area, vm_ops) && !(flags & FLAG_NO_HUGE) &&
                   (switches.is_huge_everywhere || (flags & FLAG_HUGE)) &&
                   BPF_CORE_READ(area, vm_start) <= search->block &&
                   BPF_CORE_READ(area, vm_end) >= search->block + search->bytes;
    return 0;
}

/* The pages that a fault at this address makes resident; 0: the memory is there.  The kernel gives a huge page where
 * nothing of its place is there yet: its ends, its middle, and the neighbours of the address in it tell. */
static __noinline __u64 fault_pages(__u64 addr, __u64 page_bytes)
{
    if (is_resident(addr))
        return 0;
    const __u64 pages = switches.huge_pages;
    if (!pages)
        return 1;
    struct huge_search search = { .bytes = pages * page_bytes };
    search.block = addr & ~(search.bytes - 1);
    const __u64 last = search.block + search.bytes - 1;
    const __u64 before = addr - page_bytes, after = addr + page_bytes;
    if (is_resident(search.block) || is_resident(last) ||
        is_resident(search.block + search.bytes / 2) ||
        (before > search.block && is_resident(before)) || (after < last && is_resident(after)))
        return 1;
    bpf_find_vma(bpf_get_current_task_btf(), addr, check_huge, &search, 0);
    return search.fits ? pages : 1;
}

#endif /* SAMPLER_KERNEL_FAULT_BPF_H */
