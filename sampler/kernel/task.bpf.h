/*
 * task - the threads of the kernel, and their numbers in the profiler's pid namespace.  A part of
 * stacks.bpf.c.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct upid {
    int nr;
};
struct pid {
    unsigned int level;
    struct upid numbers[1];
};
struct mm_struct {
    unsigned long start_stack;
};
struct thread_struct {
    unsigned long fsbase;
};
struct task_struct {
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    unsigned int __state;
    struct mm_struct *mm;
    struct thread_struct thread;
};
struct pt_regs {
    unsigned long ip, sp, bx, bp, r10, r12, r13, r14, r15, orig_ax, cs, di, si;
};
#pragma clang attribute pop

volatile const __u32 pid_level; /* of the profiler's pid namespace */

/* The number of a task in the profiler's pid namespace; 0: it has none there. */
static __u32 number_of(struct task_struct *task)
{
    if (pid_level == 0)
        return BPF_CORE_READ(task, pid);
    struct pid *const pid = BPF_CORE_READ(task, thread_pid);
    int number = 0;
    if (!pid || BPF_CORE_READ(pid, level) < pid_level)
        return 0;
    bpf_probe_read_kernel(&number, sizeof number,
                          (void *)pid + bpf_core_field_offset(struct pid, numbers) +
                              (__u64)pid_level * bpf_core_type_size(struct upid));
    return number;
}

static __u32 process_of(struct task_struct *task)
{
    if (pid_level == 0)
        return BPF_CORE_READ(task, tgid);
    struct task_struct *const leader = BPF_CORE_READ(task, group_leader);
    return leader ? number_of(leader) : 0;
}
