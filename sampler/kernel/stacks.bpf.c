/*
 * The BPF program: copies the Python stacks of known threads when they run and when they leave their
 * processor.  See record.h.  What changes in a loop is kept in map memory, because the verifier does
 * not follow that.  A function that is not static is verified once, for all arguments, instead of at each
 * call: the larger ones are, or loading would take twice as long.
 */
/* The order matters: libbpf's headers use the kernel's types. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "sampler/kernel/instants.h"
#include "sampler/kernel/record.h"
/* clang-format on */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#include "sampler/kernel/task.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KERNEL_MAX_PROCESSES);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct kernel_process);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, KERNEL_MAX_THREADS);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct kernel_thread);
} threads SEC(".maps");

/* Unknown threads that have been reported, and when. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u32);
    __type(value, __u64);
} reported SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, KERNEL_RING_BYTES);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, KERNEL_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

enum {
    GENERATOR_STACK = 512,
    SPAN_ROOM = sizeof(struct kernel_span) + KERNEL_MAX_SPAN + 8,
    WORD = 8,
    STATE_DEAD = 0x80, /* TASK_DEAD: the thread leaves for the last time */
    TAG_MASK = 7,      /* of pointers to objects */
    SERIAL_SHIFT = 48,
    FINGERPRINT_WORDS = 16,
    FRAME_WORDS = 16, /* of the innermost frame, at most */
    NAME_WORDS = 2,
    INNERMOST = 4, /* frames whose code is checked every AGAIN_NS */
    AGAIN_NS = 1 << 22,
    RECENT = 1 << 9,   /* a power of 2 */
    SECOND_SHIFT = 30, /* about a second of nanoseconds */
    PAGE_BYTES = 4096,
    STACK_PAGES = KERNEL_MAX_STACK / PAGE_BYTES + 1,
    X86_CALL_POLL = 7,
    X86_CALL_PPOLL = 271,
    AARCH64_CALL_PPOLL = 73,
    USER_CODE_64 = 0x33, /* the code segment of a thread that runs 64-bit code */
    SEGMENT_MASK = 0xffff,
    TEXT_BYTES = 256,
    SHORT_TEXT_BYTES = 64,
    MAX_TABLE_BYTES = 4096
};

/* One processor's record, while it is made. */
struct area {
    struct kernel_record record;
    unsigned char bytes[KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES + SPAN_ROOM];
    /* The chunk that the walk is in: its address, its bytes and where in `bytes` they are. */
    __u64 chunk, chunk_bytes, chunk_at, chunk_below;
    __u64
        rest_bytes; /* of the chunk `chunk_below`, which are in the tail; 0: it is another chunk */
    __u64 frame;    /* the next one to walk to */
    __u64 last;     /* where in `bytes` the span that was put last begins */
    __u64 window_bytes; /* of the first spans, which are not of the stack */
    __u64 calls;        /* of Python by C code, on the stack */
    __u64 innermost_at; /* where in `bytes` the innermost frame is */
    __u64 sum_at, sum_end, sums[4];
    struct kernel_outer outer; /* of the record; from 0: it has none of its own */
    struct kernel_tail tail;   /* where it begins in this stack; from 0: nowhere */
    __u64 tail_at, tail_sum;   /* as the walk has found it; tail_at 0: it has not got there */
    __u64 has_new_tail;        /* `tail` belongs to this record */
    /* A walk to a ContextVar's value: rest of its hash, itself, next node, value; 0: none. */
    __u64 hash, key, node, value;
    /* A dictionary: where in `bytes` its entries are, how many words one has and how many there
     * are, and where its values are; 0: in the entries. */
    __u64 entries_at, entry_words, entry_count, values_at;
    struct kernel_process process;
    /* The state that the thread is in, and what belongs to it; see struct kernel_thread. */
    __u64 tstate, window, main_window, generation_at;
    __u64 outer_interpreter, pthread;
    __u64 sp; /* of the current thread; only of a process that lends states */
    __u32 native_tid;
    __u64 generation; /* of code objects: what was read in the same one is still right */
    __u64 innermost;  /* frames whose code is checked again soon, whatever the generation is */
    __u64 fingerprint[FINGERPRINT_WORDS + NAME_WORDS];
    struct kernel_record code; /* a description, while it is made */
    unsigned char code_bytes[KERNEL_CODE_BYTES + SPAN_ROOM];
    /* Code objects met on this processor of late, by address: like `codes`, but quicker. */
    struct recent_code {
        __u64 key, generation, met_ns;
    } recent[RECENT];
};

/* By processor, and shared by all engines.  A tick does not interrupt a switch, nor a switch a tick.  (A
 * per-processor map takes no values of this size.) */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct area);
} areas SEC(".maps");

volatile __u64 min_away_ns; /* shorter absences are reported by chance */
volatile __u64 period_ns;
volatile __u64 forgets;  /* how often the profiler has forgotten stacks */
volatile __u32 is_on;    /* a session uses the engine */
volatile __u32 is_woken; /* the profiler, since it last took records: why */

static void add(__u32 counter, __u64 count)
{
    __u64 *const value = bpf_map_lookup_elem(&counters, &counter);
    if (value)
        *value += count;
}

/* Appends a span of the current thread's memory; false: there is no room, or no memory. */
__noinline int put(struct area *a, __u64 addr, __u64 bytes, int is_padded)
{
    if (!a)
        return 0;
    __u64 at = a->record.bytes;
    if (bytes > KERNEL_MAX_SPAN ||
        at + bytes + sizeof(struct kernel_span) > KERNEL_AREA_BYTES) {
        a->record.flags |= KERNEL_NO_ROOM;
        return 0;
    }
    at &= KERNEL_AREA_BYTES - 1;
    struct kernel_span *const span = (struct kernel_span *)(a->bytes + at);
    span->addr = addr;
    span->bytes = bytes;
    span->is_padded = is_padded;
    /* The padding. */
    *(__u64 *)(a->bytes + at + sizeof *span + (bytes & (KERNEL_MAX_SPAN - WORD))) = 0;
    if (bpf_probe_read_user(a->bytes + at + sizeof *span, bytes & (2 * KERNEL_MAX_SPAN - 1),
                            (void *)addr)) {
        a->record.flags |= KERNEL_FAULTED;
        return 0;
    }
    a->last = at + sizeof *span;
    a->record.bytes = at + sizeof *span + ((bytes + WORD - 1) & ~(WORD - 1));
    return 1;
}

/* A word of what has been copied. */
static __always_inline __u64 word_at(const struct area *a, __u64 at)
{
    return *(const __u64 *)(a->bytes + (at & (KERNEL_AREA_BYTES - 1)));
}

static const __u64 MULTIPLIER = 0x9e3779b97f4a7c15;

static __always_inline __u64 mix(__u64 sum, __u64 word)
{
    const __u64 product = (sum ^ word) * MULTIPLIER;
    return product >> 29 | product << 35;
}

/* Up to where all memory is there, at most to `to`. */
__noinline __u64 reach_up(__u64 from, __u64 to)
{
    unsigned char byte;
    for (int i = 0; i < STACK_PAGES && from < to; i++) {
        if (bpf_probe_read_user(&byte, sizeof byte, (void *)from))
            return from;
        from = (from | (PAGE_BYTES - 1)) + 1;
    }
    return from < to ? from : to;
}

/* clang-format off */
#include "sampler/kernel/code.bpf.h"
#include "sampler/kernel/tail.bpf.h"
#include "sampler/kernel/frames.bpf.h"
#include "sampler/kernel/native.bpf.h"
#include "sampler/kernel/state.bpf.h"
#include "sampler/kernel/span.bpf.h"
#include "sampler/kernel/context.bpf.h"
/* clang-format on */

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
    a->innermost = a->record.kind == KERNEL_TICK ? INNERMOST : 0;
    a->generation = changed_ns && now_ns - changed_ns < 1ULL << SECOND_SHIFT
                        ? now_ns
                        : now_ns >> SECOND_SHIFT;
}

static __u64 wake_for(__u32 why)
{
    if (is_woken & why)
        return BPF_RB_NO_WAKEUP;
    is_woken |= why;
    return BPF_RB_FORCE_WAKEUP;
}

/* The profiler takes records now and then.  It is woken up where that would be too late: while as many as there are
 * still fit, of large ones three times as many. */
static __u64 wakeup(__u64 bytes)
{
    const __u64 most =
        bytes > KERNEL_AREA_BYTES ? KERNEL_RING_BYTES / 4 : KERNEL_RING_BYTES / 2;
    return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < most ? BPF_RB_NO_WAKEUP
                                                              : wake_for(KERNEL_WOKEN_BY_MANY);
}

/* Reports a thread that is not in the map, or has another state, at most every millisecond. */
static void report_unknown(__u32 pid, __u32 tid)
{
    struct kernel_record record = { .kind = KERNEL_UNKNOWN, .pid = pid, .tid = tid };
    record.time_ns = bpf_ktime_get_ns();
    const __u64 *const last_ns = bpf_map_lookup_elem(&reported, &tid);
    if (last_ns && record.time_ns - *last_ns < 1000000)
        return;
    bpf_map_update_elem(&reported, &tid, &record.time_ns, BPF_ANY);
    bpf_ringbuf_output(&ring, &record, sizeof record, wake_for(KERNEL_WOKEN_URGENTLY));
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

/* `instants`: those that the record stands for.  false: they are lost. */
static int emit(struct area *a, struct kernel_thread *thread, __u64 instants)
{
    __u64 bytes = sizeof a->record + a->record.bytes + a->record.native_bytes;
    if (bytes > sizeof a->record + KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES)
        return 0;
    /* Frames that are not in it are read from the process, soon, before they change. */
    const int is_cut = (a->record.flags & KERNEL_NO_ROOM) && !a->record.tail_ns;
    if (bpf_ringbuf_output(&ring, a, bytes,
                           is_cut ? wake_for(KERNEL_WOKEN_BY_MANY) : wakeup(bytes)) == 0)
        return 1;
    add(KERNEL_COUNT_LOST, 1);
    thread->lost_instants += instants;
    return 0;
}

#include "sampler/kernel/same.bpf.h"

/* Counts the time that this record took from its thread. */
static void count_ns(const struct area *a)
{
    add(KERNEL_COUNT_NS, bpf_ktime_get_ns() - a->record.time_ns);
}

static struct area *own_area(void)
{
    const __u32 index = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&areas, &index);
}

/* All the time that a thread runs is counted: events come late where the processor was kept busy or, of a virtual
 * machine, was away. */
static __u32 instants_until(__u64 now_ns, struct kernel_thread *thread)
{
    const __u64 ran_ns = now_ns - thread->came_ns, period = period_ns;
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
    a->record.native_bytes = 0;
    a->record.instants = 0;
    a->record.same_ns = 0;
    a->record.tstate = a->record.interpreter = 0;
    a->outer.from = 0;
    a->record.has_polled = 0;
    a->record.tail_at = 0;
    a->record.tail_ns = 0;
    a->has_new_tail = 0;
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
    if (take(a, thread))
        send_stack(a, thread, process, a->record.instants);
    else
        add(KERNEL_COUNT_FAULTED, a->record.instants);
    count_ns(a);
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

static void leave(struct task_struct *task, int is_preempted)
{
    __u32 tid;
    struct kernel_thread *const thread = known_thread(task, &tid);
    if (!thread)
        return;
    const unsigned int state = BPF_CORE_READ(task, __state);
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
    const __u64 period = period_ns;
    if (away_ns < min_away_ns && away_ns < period &&
        (__u64)bpf_get_prandom_u32() * period >> 32 >= away_ns)
        return;
    if (bpf_ringbuf_output(&ring, &record, sizeof record, BPF_RB_NO_WAKEUP) == 0)
        return;
    add(KERNEL_COUNT_LOST, 1);
    thread->lost_away_ns += away_ns < min_away_ns && away_ns < period ? period : away_ns;
}

/* From now on the thread does not wait for what it left for, but for a processor. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
    __u32 tid;
    struct kernel_thread *const thread = is_on ? known_thread(task, &tid) : 0;
    if (thread && thread->left_ns && !thread->woken_ns)
        thread->woken_ns = bpf_ktime_get_ns();
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *before,
             struct task_struct *after)
{
    if (!is_on)
        return 0;
    leave(before, is_preempted);
    come_back(after);
    return 0;
}
