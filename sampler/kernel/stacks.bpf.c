/*
 * The BPF program: copies the Python stacks of known threads when they run, when they leave their
 * processor, and when they make memory resident, copy it or give it back.  See record.h.  What changes in a loop is kept
 * in map memory, because the verifier does not follow that.  A function that is not static is verified once, for all arguments, instead of at each
 * call: the larger ones are, or loading would take twice as long.
 */
#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/context.bpf.h"
#include "sampler/kernel/fault.bpf.h"
#include "sampler/kernel/frames.bpf.h"
#include "sampler/kernel/instants.h"
#include "sampler/kernel/native.bpf.h"
#include "sampler/kernel/returned.bpf.h"
#include "sampler/kernel/same.bpf.h"
#include "sampler/kernel/state.bpf.h"
#include "sampler/kernel/tail.bpf.h"
#include "sampler/kernel/task.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Unknown threads that have been reported, and when. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u32);
    __type(value, __u64);
} reported SEC(".maps");

enum {
    STATE_DEAD = 0x80, /* TASK_DEAD: the thread leaves for the last time */
    INNERMOST = 4,     /* frames whose code is checked every AGAIN_NS */
    SECOND_SHIFT = 30, /* about a second of nanoseconds */
    YOUNG_NS = 5000000,
    X86_CALL_POLL = 7,
    X86_CALL_PPOLL = 271,
    AARCH64_CALL_PPOLL = 73
};

/* The generation in old versions, whose interpreters count nothing: see record.h. */
static void set_generation(struct area *a)
{
    const __u64 now_ns = a->record.time_ns;
    const __u64 changed_ns = a->process.changed_ns;
    a->innermost = 0;
    a->generation = 0;
    if (a->generation_at) {
        bpf_probe_read_user(&a->generation, sizeof a->generation, (void *)a->generation_at);
        return;
    }
    a->innermost = a->record.kind == KERNEL_LEFT ? 0 : INNERMOST;
    a->generation = changed_ns && now_ns - changed_ns < 1ULL << SECOND_SHIFT
                        ? now_ns
                        : now_ns >> SECOND_SHIFT;
}

/* Reports a thread that is not in the map, or has another state, at most every `least_ns`. */
static void report_thread(__u32 pid, __u32 tid, __u64 least_ns)
{
    struct kernel_record record = { .kind = KERNEL_UNKNOWN, .pid = pid, .tid = tid };
    record.time_ns = bpf_ktime_get_ns();
    const __u64 *const last_ns = bpf_map_lookup_elem(&reported, &tid);
    if (last_ns && record.time_ns - *last_ns < least_ns)
        return;
    bpf_map_update_elem(&reported, &tid, &record.time_ns, BPF_ANY);
    bpf_ringbuf_output(&ring, &record, sizeof record, wake_for(KERNEL_WOKEN_URGENTLY));
}

static void report_unknown(__u32 pid, __u32 tid)
{
    report_thread(pid, tid, 1000000);
}

static __noinline int take(struct area *a, struct kernel_thread *thread)
{
    if (!a || !thread)
        return 0;
    a->record.bytes = 0;
    find_state(a, thread);
    set_generation(a);
    if (thread->window_bytes)
        put(a, a->window, thread->window_bytes, 0);
    if (thread->window_bytes && a->main_window)
        put(a, a->main_window, thread->window_bytes, 0);
    if (a->process.runtime_window_bytes)
        put(a, a->process.runtime_window, a->process.runtime_window_bytes, 0);
    if (a->process.context.place || a->process.context.published_count)
        put_context(a, thread);
    a->window_bytes = a->record.bytes;
    a->innermost_at = 0;
    if (!put(a, a->tstate, a->process.tstate_bytes, 0))
        return 0;
    const __u64 tstate_at = a->last;
    put_frames(a, thread, tstate_at);
    settle_tail(a, thread);
    /* The thread runs in an interpreter around this one: it has to be listed again. */
    if (thread->is_inner && !a->innermost_at) {
        a->record.bytes = 0;
        a->record.flags |= KERNEL_FAULTED;
        report_unknown(a->record.pid, a->record.tid);
        return 0;
    }
    if (!a->innermost_at)
        a->innermost_at = tstate_at;
    if (a->process.wants_native)
        put_native(a, thread);
    return 1;
}

/* Counts the time that this record took from its thread. */
static void count_ns(const struct area *a)
{
    add(KERNEL_COUNT_NS, bpf_ktime_get_ns() - a->record.time_ns);
}

/* NULL: there is none, or a program that was interrupted holds it. */
static struct area *own_area(void)
{
    const __u32 index = bpf_get_smp_processor_id();
    struct area *const a = bpf_map_lookup_elem(&areas, &index);
    return a && !a->is_held ? a : 0;
}

/* All the time that a thread runs is counted: events come late where the processor was kept busy or, of a virtual
 * machine, was away. */
static __u32 instants_until(__u64 now_ns, struct kernel_thread *thread)
{
    const __u64 ran_ns = now_ns - thread->came_ns, period = switches.period_ns;
    thread->came_ns = now_ns;
    return period ? instants_take(ran_ns, period, &thread->uncounted_ns) : 1;
}

static void begin(struct area *a, __u32 kind, __u32 pid, __u32 tid)
{
    a->record.kind = kind;
    a->record.flags = 0;
    a->record.pid = pid;
    a->record.tid = tid;
    a->record.time_ns = bpf_ktime_get_ns();
    a->record.left_ns = 0;
    a->record.system_call = -1;
    a->record.bytes = 0;
    a->record.native_bytes = a->record.kernel_bytes = 0;
    a->record.instants = 0;
    a->record.same_ns = 0;
    a->record.tstate = a->record.interpreter = 0;
    a->outer.from = 0;
    a->record.has_polled = 0;
    a->record.tail_at = 0;
    a->record.tail_ns = 0;
    a->has_new_tail = 0;
}

/* Takes what the thread does in the kernel, if its process wants that: `context` is that of the program. */
static __always_inline void take_kernel(struct area *a, const struct kernel_process *process,
                                        void *context)
{
    if (!process->wants_kernel)
        return;
    const long bytes = bpf_get_stack(context, a->calls_in_kernel, sizeof a->calls_in_kernel, 0);
    a->record.kernel_bytes = bytes > 0 ? bytes : 0;
}

SEC("perf_event")
int on_tick(void *context)
{
    struct task_struct *const task = (void *)bpf_get_current_task();
    __u32 pid = process_of(task);
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
    if (!process)
        return 0;
    __u32 tid = number_of(task);
    if (process->only_tid && process->only_tid != tid)
        return 0;
    add(KERNEL_COUNT_TICKS, 1);
    struct kernel_thread *const thread = bpf_map_lookup_elem(&threads, &tid);
    if (!thread || thread->pid != pid) {
        report_unknown(pid, tid);
        return 0;
    }
    struct area *const a = own_area();
    if (!a)
        return 0;
    begin(a, KERNEL_TICK, pid, tid);
    a->process = *process;
    a->record.instants = instants_until(a->record.time_ns, thread);
    if (!a->record.instants)
        return 0;
    take_kernel(a, &a->process, context);
    if (take(a, thread))
        send_stack(a, thread, process, a->record.instants);
    else
        add(KERNEL_COUNT_FAULTED, a->record.instants);
    count_ns(a);
    return 0;
}

/* Sends the stack of a thread for so many pages; false: it is lost. */
static __always_inline int send_pages(struct area *a, struct kernel_thread *thread,
                                      const struct kernel_process *process, __u64 pages)
{
    if (!a || !thread || !process)
        return 0;
    a->process = *process;
    a->record.instants = pages > KERNEL_MAX_PAGES ? KERNEL_MAX_PAGES : pages;
    int is_sent = 0;
    if (take(a, thread))
        is_sent = send_stack(a, thread, process, 0);
    else
        add(KERNEL_COUNT_LOST, 1);
    count_ns(a);
    return is_sent;
}

/* A fault interrupts neither a tick nor a switch, and while it is handled here, a tick is left out: the kernel runs no
 * program of an event within another.  The time of that tick counts with the next one. */
SEC("perf_event")
int on_fault(void *context)
{
    struct task_struct *const task = (void *)bpf_get_current_task();
    add(KERNEL_COUNT_FAULTS, 1);
    __u32 pid = process_of(task);
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
    if (!process || !(switches.events & KERNEL_EVENTS_OF_FAULTS))
        return 0;
    __u32 tid = number_of(task);
    if (process->only_tid && process->only_tid != tid)
        return 0;
    struct kernel_thread *const thread = bpf_map_lookup_elem(&threads, &tid);
    if (!thread || thread->pid != pid) {
        report_unknown(pid, tid);
        return 0;
    }
    const __u64 due = faults_due(thread);
    if (!due)
        return 0;
    const __u64 addr = fault_addr(context);
    __u64 pages = due * fault_pages(addr, switches.page_bytes);
    const int is_copy = !pages;
    if (is_copy && (switches.events & KERNEL_EVENT_COPIES) && is_copied(addr))
        pages = due;
    struct area *const a = own_area();
    if (!pages || !a || (!is_copy && !(switches.events & KERNEL_EVENT_FAULTS)))
        return 0;
    begin(a, is_copy ? KERNEL_COPY : KERNEL_FAULT, pid, tid);
    take_kernel(a, process, context);
    if (send_pages(a, thread, process, pages))
        return 0;
    if (a->record.kind == KERNEL_COPY)
        thread->lost.copied += pages;
    else
        thread->lost.grown += pages;
    return 0;
}

/* The kernel has changed how many pages of a kind a process has. */
SEC("tp_btf/rss_stat")
int BPF_PROG(on_resident, struct mm_struct *mm, int kind)
{
    struct task_struct *const task = bpf_get_current_task_btf();
    if (task->mm != mm)
        return 0;
    __u32 pid = process_of(task);
    const __s64 count = has_parts() ? 0 : (__s64)ctx[2];
    const __s64 change = resident_change(mm, kind, pid, count);
    /* A page table is unmapped in one step; a larger change was not made here. */
    const __s64 pages = -change;
    if (pages <= 0 || pages > switches.page_bytes / WORD || !is_in_unmapping_call(task))
        return 0;
    struct kernel_resident *const resident = bpf_map_lookup_elem(&residents, &pid);
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
    __u32 tid = number_of(task);
    struct kernel_thread *const thread = bpf_map_lookup_elem(&threads, &tid);
    if (!resident || !process || (process->only_tid && process->only_tid != tid))
        return 0;
    __sync_fetch_and_add(&resident->returned, pages);
    if (!thread || thread->pid != pid) {
        report_unknown(pid, tid);
        return 0;
    }
    thread->returned += pages;
    const __u64 due = thread->returned;
    struct area *const a = own_area();
    if (!a || !is_due(&thread->return_pace, due))
        return 0;
    thread->returned = 0;
    a->is_held = 1;
    begin(a, KERNEL_FREE, pid, tid);
    take_kernel(a, process, ctx);
    if (!send_pages(a, thread, process, due))
        thread->lost.returned += due;
    a->is_held = 0;
    return 0;
}

/* A thread in the map.  One that has ended may still be there when another process gets its number. */
static struct kernel_thread *known_thread(struct task_struct *task, __u32 *tid)
{
    *tid = number_of(task);
    struct kernel_thread *const thread = bpf_map_lookup_elem(&threads, tid);
    return thread && thread->pid == process_of(task) ? thread : 0;
}

struct polled {
    int fd;
    short events, found;
};

/* The call that the thread is in, by its registers.  The kernel that loads the program says which processor has them:
 * code of the others is dead there.  Returns whether the call is one that polls. */
static __always_inline int read_call(struct kernel_record *record)
{
    void *const found = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (bpf_core_field_exists(struct pt_regs, orig_ax)) {
        struct pt_regs *const regs = found;
        record->system_call = (int)regs->orig_ax;
        record->args[0] = regs->di;
        record->args[1] = regs->si;
        return record->system_call == X86_CALL_POLL || record->system_call == X86_CALL_PPOLL;
    }
    if (bpf_core_field_exists(struct pt_regs___aarch64, syscallno)) {
        struct pt_regs___aarch64 *const regs = found;
        record->system_call = regs->syscallno;
        record->args[0] = regs->orig_x0;
        record->args[1] = regs->regs[1];
        return record->system_call == AARCH64_CALL_PPOLL;
    }
    return 0;
}

/* Why the thread leaves. */
static void set_call(struct area *a)
{
    struct polled polled;
    if (!read_call(&a->record) || a->record.args[1] != 1 ||
        bpf_probe_read_user(&polled, sizeof polled, (void *)a->record.args[0]))
        return;
    a->record.has_polled = 1;
    a->record.polled = polled.fd;
    a->record.events = (__u16)polled.events;
}

/* Reports a thread that begins, each time that it leaves its processor: at first the interpreter may not know it yet, and
 * then it may sleep for long.  Later on, threads that are none of the interpreter are reported once a second. */
static __noinline int report_new(struct task_struct *task, __u32 tid)
{
    if (!task)
        return 0;
    __u32 pid = process_of(task);
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
    if (!process || (process->only_tid && process->only_tid != tid))
        return 0;
    const __u64 age_ns = bpf_ktime_get_ns() - BPF_CORE_READ(task, start_time);
    report_thread(pid, tid, age_ns < YOUNG_NS ? 0 : 1ULL << SECOND_SHIFT);
    return 0;
}

static void leave(void *context, struct task_struct *task, int is_preempted)
{
    __u32 tid;
    const unsigned int state = BPF_CORE_READ(task, __state);
    struct kernel_thread *const thread = known_thread(task, &tid);
    if (!thread) {
        if (!(state & STATE_DEAD))
            report_new(task, tid);
        return;
    }
    __u32 pid = thread->pid;
    /* The profiler removes it, once it has seen what was lost. */
    if (state & STATE_DEAD) {
        thread->pid = 0;
        return;
    }
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &pid);
    struct area *const a = own_area();
    if (!process || !a)
        return;
    begin(a, KERNEL_LEFT, pid, tid);
    a->process = *process;
    thread->left_ns = a->record.time_ns;
    thread->woken_ns = 0;
    thread->uncounted_ns += (long long)(thread->left_ns - thread->came_ns);
    if (is_preempted || state == 0)
        a->record.flags |= KERNEL_RUNNABLE;
    set_call(a);
    take_kernel(a, &a->process, context);
    /* Without a stack too: the record of its return stands for the instants between, and they fail. */
    take(a, thread);
    send_stack(a, thread, process, 0);
    count_ns(a);
}

static void come_back(struct task_struct *task)
{
    __u32 tid;
    struct kernel_thread *const thread = known_thread(task, &tid);
    if (!thread)
        return;
    struct kernel_record record = { .kind = KERNEL_RETURNED, .pid = thread->pid, .tid = tid };
    record.time_ns = bpf_ktime_get_ns();
    record.left_ns = thread->left_ns;
    /* A clock of another processor may be ahead. */
    if (thread->woken_ns >= record.left_ns && thread->woken_ns <= record.time_ns)
        record.woken_ns = thread->woken_ns;
    thread->left_ns = 0;
    thread->came_ns = record.time_ns;
    if (!record.left_ns)
        return;
    /* A short absence counts as often as an instant falls into it. */
    const __u64 away_ns = record.time_ns - record.left_ns;
    const __u64 period = switches.period_ns;
    if (away_ns < switches.min_away_ns && away_ns < period &&
        (__u64)bpf_get_prandom_u32() * period >> 32 >= away_ns)
        return;
    if (bpf_ringbuf_output(&ring, &record, sizeof record, BPF_RB_NO_WAKEUP) == 0)
        return;
    add(KERNEL_COUNT_LOST, 1);
    thread->lost_away_ns +=
        away_ns < switches.min_away_ns && away_ns < period ? period : away_ns;
}

/* From now on the thread does not wait for what it left for, but for a processor. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
    __u32 tid;
    struct kernel_thread *const thread = switches.is_on ? known_thread(task, &tid) : 0;
    if (thread && thread->left_ns && !thread->woken_ns)
        thread->woken_ns = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *before,
             struct task_struct *after)
{
    if (!switches.is_on)
        return 0;
    leave(ctx, before, is_preempted);
    come_back(after);
    return 0;
}
