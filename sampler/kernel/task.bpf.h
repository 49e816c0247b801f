/*
 * task - the threads of the kernel, and their numbers in the profiler's pid namespace.  A part of
 * stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_TASK_BPF_H
#define SAMPLER_KERNEL_TASK_BPF_H

/* The order matters: libbpf's headers use the kernel's types. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
    unsigned int inum;
};
struct pid_namespace {
    struct ns_common ns;
};
struct upid {
    int nr;
    struct pid_namespace *ns;
};
struct pid {
    unsigned int level;
    struct upid numbers[1];
};
struct mm_struct {
    unsigned long start_stack;
};
/* Since 6.2. */
struct percpu_counter {
    long long count;
    int *counters;
};
struct mm_struct___counters {
    struct percpu_counter rss_stat[1];
};
struct bpf_array {
    void *pptrs[1]; /* of a map with values of each processor */
};
/* The owners of memory of no file; a fork gives the child one of its own. */
struct anon_vma {
    struct anon_vma *root;
    unsigned long num_children; /* itself included, if it is the root */
};
struct vm_operations_struct;
struct vm_area_struct {
    unsigned long vm_start, vm_end;
    struct anon_vma *anon_vma;
    const struct vm_operations_struct *vm_ops;
    unsigned long vm_flags;
};
struct thread_struct {
    unsigned long fsbase;
};
struct thread_struct___aarch64 {
    struct {
        unsigned long tp_value;
    } uw;
};
struct task_struct {
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    unsigned int __state;
    __u64 start_time;
    struct mm_struct *mm;
    unsigned long min_flt, maj_flt;
    struct thread_struct thread;
};
struct task_struct___aarch64 {
    struct thread_struct___aarch64 thread;
};
/* The registers of x86-64. */
struct pt_regs {
    unsigned long ip, sp, bx, bp, r10, r12, r13, r14, r15, orig_ax, cs, di, si;
};
/* The registers of aarch64, where the same name has other fields: what is behind ___ is left out when the kernel's are looked up. */
struct pt_regs___aarch64 {
    unsigned long regs[31], sp, pc, pstate, orig_x0;
    int syscallno;
};
#pragma clang attribute pop

volatile const __u32 own_namespace; /* the profiler's pid namespace; 0: the first one */

enum { MAX_LEVELS = 32 /* of pid namespaces, in the kernel */ };

/* The number in the profiler's pid namespace, which is at any of the levels; 0: it has none there. */
static __noinline int number_in(__u64 addr)
{
    struct pid *const pid = (void *)addr;
    if (!pid)
        return 0;
    const unsigned int level = BPF_CORE_READ(pid, level);
    for (unsigned int i = 1; i < MAX_LEVELS && i <= level; i++) {
        struct upid *const in = (void *)pid + bpf_core_field_offset(struct pid, numbers) +
                                (__u64)i * bpf_core_type_size(struct upid);
        if (BPF_CORE_READ(in, ns, ns.inum) == own_namespace)
            return BPF_CORE_READ(in, nr);
    }
    return 0;
}

/* The number of a task in the profiler's pid namespace; 0: it has none there. */
static __u32 number_of(struct task_struct *task)
{
    return own_namespace ? (__u32)number_in((__u64)BPF_CORE_READ(task, thread_pid))
                         : (__u32)BPF_CORE_READ(task, pid);
}

static __u32 process_of(struct task_struct *task)
{
    if (!own_namespace)
        return BPF_CORE_READ(task, tgid);
    struct task_struct *const leader = BPF_CORE_READ(task, group_leader);
    return leader ? number_of(leader) : 0;
}

#endif /* SAMPLER_KERNEL_TASK_BPF_H */
