/*
 * fault - which page faults are sampled, and how many pages one makes resident or copies.  A part of stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_FAULT_BPF_H
#define SAMPLER_KERNEL_FAULT_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/pace.bpf.h"
#include "sampler/kernel/task.bpf.h"

enum {
    /* The address of the fault is there in the context of the program, behind the registers. */
    X86_FAULT_ADDR = 176,
    AARCH64_FAULT_ADDR = 280
};

/* VM_HUGEPAGE, VM_NOHUGEPAGE, VM_WRITE, VM_SHARED. */
static const __u64 FLAG_HUGE = 0x20000000, FLAG_NO_HUGE = 0x40000000, FLAG_WRITE = 2,
                   FLAG_SHARED = 8;

/* How many faults of the thread this one stands for; 0: it is not sampled. */
static __noinline __u64 faults_due(struct kernel_thread *thread)
{
    struct task_struct *const task = (void *)bpf_get_current_task();
    if (!thread)
        return 0;
    /* The kernel counts this one later. */
    const __u64 faults = BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt) + 1;
    if (!thread->fault_pace.sampled_ns) {
        const __u64 period = switches.fault_period;
        thread->faults = faults > period ? faults - period : 0;
    }
    const __u64 due = faults - thread->faults;
    if (!is_due(&thread->fault_pace, due))
        return 0;
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

/* Memory of no file that another process got by a fork, and that is not shared for good.  A page that was only read so far
 * is the page of zeros, and grows when it is written; where no fork was, the kernel has made no other chain of owners. */
static long check_forked(struct task_struct *task, struct vm_area_struct *area, int *is_forked)
{
    const __u64 flags = BPF_CORE_READ(area, vm_flags);
    struct anon_vma *const owner = BPF_CORE_READ(area, anon_vma);
    if (!owner || (flags & FLAG_SHARED) || !(flags & FLAG_WRITE))
        return 0;
    *is_forked = !bpf_core_field_exists(owner->num_children) ||
                 BPF_CORE_READ(owner, root) != owner || BPF_CORE_READ(owner, num_children) > 1;
    return 0;
}

/* Does a fault at this address, where memory is there, give the process a page of its own? */
static __noinline int is_copied(__u64 addr)
{
    int is_forked = 0;
    if (!is_resident(addr))
        return 0;
    bpf_find_vma(bpf_get_current_task_btf(), addr, check_forked, &is_forked, 0);
    return is_forked;
}

#endif /* SAMPLER_KERNEL_FAULT_BPF_H */
