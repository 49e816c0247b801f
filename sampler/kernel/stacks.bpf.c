/*
 * The BPF program: copies the Python stacks of known threads when they run and when they leave their
 * processor.  See record.h.  What changes in a loop is kept in map memory, because the verifier does
 * not follow that.
 */
/* The order matters: libbpf's headers use the kernel's types. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "sampler/kernel/record.h"
/* clang-format on */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct upid {
    int nr;
};
struct pid {
    unsigned int level;
    struct upid numbers[1];
};
struct task_struct {
    int pid, tgid;
    struct pid *thread_pid;
    struct task_struct *group_leader;
    unsigned int __state;
};
struct pt_regs {
    unsigned long orig_ax;
};
#pragma clang attribute pop

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

/* What is known of a code object: its fingerprint, and the generation in which it was read. */
struct known_code {
    __u64 fingerprint, generation;
};

/* By address and serial number of the process. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, KERNEL_MAX_CODES);
    __type(key, __u64);
    __type(value, struct known_code);
} codes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, KERNEL_RING_BYTES);
} ring SEC(".maps");

/* When the clock of this processor last ticked. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} ticked SEC(".maps");

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
    NAME_WORDS = 2,
    INNERMOST = 4,     /* frames whose code is checked at each tick */
    RECENT = 1 << 9,   /* a power of 2 */
    SECOND_SHIFT = 30, /* about a second of nanoseconds */
    TEXT_BYTES = 256,
    SHORT_TEXT_BYTES = 64,
    MAX_TABLE_BYTES = 4096
};

/* One processor's record, while it is made. */
struct area {
    struct kernel_record record;
    unsigned char bytes[KERNEL_AREA_BYTES + SPAN_ROOM];
    /* The chunk that the walk is in: its address, its bytes and where in `bytes` they are. */
    __u64 chunk, chunk_bytes, chunk_at, chunk_below;
    __u64 frame; /* the next one to walk to */
    __u64 last;  /* where in `bytes` the span that was put last begins */
    struct kernel_process process;
    __u64 generation; /* of code objects: what was read in the same one is still right */
    __u64 innermost;  /* frames whose code is checked whatever the generation is */
    __u64 fingerprint[FINGERPRINT_WORDS + NAME_WORDS];
    struct kernel_record code; /* a description, while it is made */
    unsigned char code_bytes[KERNEL_CODE_BYTES + SPAN_ROOM];
    /* Code objects met on this processor of late, by address: like `codes`, but quicker. */
    struct recent_code {
        __u64 key, generation;
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

volatile const __u32 pid_level; /* of the profiler's pid namespace */
volatile __u64 min_away_ns;     /* shorter absences are reported by chance */
volatile __u64 period_ns;
volatile __u32 is_on; /* a session uses the engine */

static void add(__u32 counter, __u64 count)
{
    __u64 *const value = bpf_map_lookup_elem(&counters, &counter);
    if (value)
        *value += count;
}

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

/* Appends a span of the current thread's memory; false: there is no room, or no memory. */
static __noinline int put(struct area *a, __u64 addr, __u64 bytes, int is_padded)
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

static int put_chunk(struct area *a, __u64 addr, __u64 bytes)
{
    if (!put(a, addr, bytes, 1))
        return 0;
    a->chunk = addr;
    a->chunk_bytes = bytes;
    a->chunk_at = a->last;
    a->chunk_below = bytes >= WORD ? word_at(a, a->last) : 0;
    return 1;
}

/* The chunk below: its header says how much of it is used. */
static __noinline int put_chunk_below(struct area *a)
{
    __u64 header[3] = { 0 };
    if (!a || !a->chunk_below)
        return 0;
    const __u64 addr = a->chunk_below;
    if (bpf_probe_read_user(header, sizeof header, (void *)addr)) {
        a->record.flags |= KERNEL_FAULTED;
        return 0;
    }
    __u64 bytes = sizeof header + header[2] * WORD;
    return put_chunk(a, addr, bytes > header[1] ? header[1] : bytes);
}

static int is_in_chunk(const struct area *a)
{
    return a->frame >= a->chunk && a->frame - a->chunk < a->chunk_bytes;
}

/* Appends a span to the description. */
static __noinline int add_part(struct area *a, __u64 addr, __u64 bytes)
{
    if (!a)
        return 0;
    const __u64 at = a->code.bytes & (KERNEL_CODE_BYTES - 1);
    struct kernel_span *const span = (struct kernel_span *)(a->code_bytes + at);
    if (bytes > MAX_TABLE_BYTES || at + bytes + 2 * sizeof *span > KERNEL_CODE_BYTES ||
        bpf_probe_read_user(a->code_bytes + at + sizeof *span,
                            bytes & (2 * MAX_TABLE_BYTES - 1), (void *)addr))
        return 0;
    span->addr = addr;
    span->bytes = bytes;
    span->is_padded = 0;
    a->code.bytes = at + sizeof *span + ((bytes + WORD - 1) & ~(WORD - 1));
    return 1;
}

/* Text objects are seldom longer; the memory behind a short one may not be there. */
static void add_text(struct area *a, __u64 addr)
{
    if (!add_part(a, addr, TEXT_BYTES))
        add_part(a, addr, SHORT_TEXT_BYTES);
}

/* A pointer in the code object that the description begins with. */
static __always_inline __u64 pointer_at(const struct area *a, __u64 field)
{
    const __u64 at = (sizeof(struct kernel_span) + field) & (KERNEL_CODE_BYTES - 1);
    return *(const __u64 *)(a->code_bytes + at);
}

/* Describes the code object; false: it is not there. */
static __noinline int describe(struct area *a, __u64 addr)
{
    __u64 bytes = 0;
    if (!a)
        return 0;
    const struct kernel_code_layout *const layout = &a->process.code;
    a->code.kind = KERNEL_CODE;
    a->code.flags = 0;
    a->code.pid = a->record.pid;
    a->code.tid = a->record.tid;
    a->code.time_ns = a->record.time_ns;
    a->code.left_ns = 0;
    a->code.system_call = -1;
    a->code.bytes = 0;
    if (!add_part(a, addr, layout->bytes))
        return 0;
    add_text(a, pointer_at(a, layout->name));
    add_text(a, pointer_at(a, layout->file));
    if (layout->instructions)
        add_part(a, pointer_at(a, layout->instructions), layout->data);
    const __u64 table = pointer_at(a, layout->line_table);
    if (bpf_probe_read_user(&bytes, sizeof bytes, (void *)(table + layout->length)) == 0)
        add_part(a, table, layout->data + bytes);
    bytes = sizeof a->code + (a->code.bytes & (2 * KERNEL_CODE_BYTES - 1));
    return bpf_ringbuf_output(&ring, &a->code, bytes, BPF_RB_NO_WAKEUP) == 0;
}

/* A number for the bytes that tell a code object from another at its address; 0: they are not there. */
static __noinline __u64 fingerprint_of(struct area *a, __u64 addr)
{
    if (!a)
        return 0;
    const struct kernel_code_layout *const layout = &a->process.code;
    __u64 value = 0;
    __builtin_memset(a->fingerprint, 0, sizeof a->fingerprint);
    const __u64 bytes = layout->fingerprint_bytes;
    if (bytes > FINGERPRINT_WORDS * WORD ||
        bpf_probe_read_user(a->fingerprint, bytes & (2 * FINGERPRINT_WORDS * WORD - 1),
                            (void *)(addr + layout->fingerprint)))
        return 0;
    if (layout->name_hash) {
        const __u64 at =
            (layout->name - layout->fingerprint) & (FINGERPRINT_WORDS * WORD - WORD);
        const __u64 name = *(__u64 *)((unsigned char *)a->fingerprint + at);
        if (bpf_probe_read_user(a->fingerprint + FINGERPRINT_WORDS, NAME_WORDS * WORD,
                                (void *)(name + layout->name_hash)))
            return 0;
    }
    for (int i = 0; i < FINGERPRINT_WORDS + NAME_WORDS; i++)
        value = (value ^ a->fingerprint[i]) * 0x9e3779b97f4a7c15 + (value >> 29);
    return value | 1;
}

/* Describes the code object of a frame, unless the profiler knows it. */
static __noinline int meet(struct area *a, __u64 addr, __u32 depth)
{
    if (!a || !addr)
        return 0;
    const __u64 key = addr ^ (__u64)a->process.serial << SERIAL_SHIFT;
    const __u64 generation = a->generation;
    struct recent_code *const recent = &a->recent[addr / 16 & (RECENT - 1)];
    const int is_checked = depth >= a->innermost;
    if (is_checked && recent->key == key && recent->generation == generation)
        return 0;
    struct known_code *const known = bpf_map_lookup_elem(&codes, &key);
    if (!known || !is_checked || known->generation != generation) {
        const struct known_code now = { fingerprint_of(a, addr), generation };
        if (!now.fingerprint)
            return 0;
        if (known && known->fingerprint == now.fingerprint) {
            known->generation = generation;
        } else {
            struct kernel_process *const process =
                bpf_map_lookup_elem(&processes, &a->record.pid);
            if (known && process)
                process->changed_ns = a->record.time_ns;
            /* What was not described is met again. */
            if (!describe(a, addr)) {
                bpf_map_delete_elem(&codes, &key);
                return 0;
            }
            bpf_map_update_elem(&codes, &key, &now, BPF_ANY);
        }
    }
    recent->key = key;
    recent->generation = generation;
    return 1;
}

struct walk {
    struct area *area;
};

/* One step outwards.  Frames in chunks have been copied with them; others are copied one by one. */
static long step(__u32 i, void *context)
{
    struct area *const a = ((struct walk *)context)->area;
    __u64 at;
    if (!a->frame)
        return 1;
    if (is_in_chunk(a)) {
        at = a->chunk_at + (a->frame - a->chunk);
    } else if (a->process.frames != KERNEL_HEAP_FRAMES && a->chunk_below &&
               a->frame > a->chunk_below && a->frame - a->chunk_below < KERNEL_MAX_SPAN) {
        /* Perhaps in the chunk below; otherwise the next step finds it in neither. */
        if (put_chunk_below(a))
            return 0;
        return 1;
    } else {
        /* The value stack of a generator that runs lies behind its frame. */
        const __u64 flags = a->record.flags;
        if (i || !put(a, a->frame, a->process.frame_bytes + GENERATOR_STACK, 0)) {
            a->record.flags = flags;
            if (!put(a, a->frame, a->process.frame_bytes, 0))
                return 1;
        }
        at = a->last;
    }
    meet(a, word_at(a, at + a->process.code.of_frame) & ~(__u64)TAG_MASK, i);
    a->frame = word_at(a, at + a->process.frame_previous);
    return 0;
}

static long put_rest(__u32 i, void *context)
{
    return !put_chunk_below(((struct walk *)context)->area);
}

static int put_frames(struct area *a, __u64 tstate_at)
{
    const struct kernel_process *const process = &a->process;
    struct walk walk = { a };
    __u64 before = 0;
    a->chunk = a->chunk_bytes = a->chunk_below = 0;
    a->frame = word_at(a, tstate_at + process->tstate_frame);
    if (process->frames == KERNEL_CFRAMES) {
        const __u64 cframe = word_at(a, tstate_at + process->tstate_cframe);
        if (!put(a, cframe, process->cframe_bytes, 0))
            return 0;
        a->frame = word_at(a, a->last + process->cframe_frame);
        before = word_at(a, a->last + process->cframe_previous);
    }
    if (process->frames != KERNEL_HEAP_FRAMES) {
        const __u64 newest = word_at(a, tstate_at + process->tstate_chunk);
        const __u64 top = word_at(a, tstate_at + process->tstate_top);
        if (newest && !put_chunk(a, newest, top - newest))
            return 0;
    }
    /* A loop that has just been entered has no frame yet: the loop around it has. */
    if (before && !is_in_chunk(a) && put(a, before, process->cframe_bytes, 0) && !a->frame)
        a->frame = word_at(a, a->last + process->cframe_frame);
    bpf_loop(KERNEL_MAX_FRAMES, step, &walk, 0);
    if (a->frame && !(a->record.flags & KERNEL_FAULTED))
        a->record.flags |= KERNEL_NO_ROOM;
    /* Chunks that hold no frame of the walk still belong to the list. */
    if (process->frames != KERNEL_HEAP_FRAMES)
        bpf_loop(KERNEL_MAX_CHUNKS, put_rest, &walk, 0);
    return 1;
}

/* Of old versions, whose interpreters count nothing, see record.h. */
static void set_generation(struct area *a, const struct kernel_thread *thread)
{
    const __u64 now_ns = a->record.time_ns;
    const __u64 changed_ns = a->process.changed_ns;
    a->innermost = 0;
    a->generation = 0;
    if (thread->generation) {
        bpf_probe_read_user(&a->generation, sizeof a->generation, (void *)thread->generation);
        return;
    }
    a->innermost = a->record.kind == KERNEL_TICK ? INNERMOST : 0;
    a->generation = changed_ns && now_ns - changed_ns < 1ULL << SECOND_SHIFT
                        ? now_ns
                        : now_ns >> SECOND_SHIFT;
}

static __noinline int take(struct area *a, struct kernel_thread *thread)
{
    if (!a || !thread)
        return 0;
    a->record.bytes = 0;
    set_generation(a, thread);
    if (!put(a, thread->tstate, a->process.tstate_bytes, 0))
        return 0;
    const __u64 tstate_at = a->last;
    if (thread->window_bytes)
        put(a, thread->window, thread->window_bytes, 0);
    if (a->process.runtime_window_bytes)
        put(a, a->process.runtime_window, a->process.runtime_window_bytes, 0);
    put_frames(a, tstate_at);
    return 1;
}

/* `instants`: those that the record stands for. */
static void emit(struct area *a, __u64 instants)
{
    __u64 bytes = sizeof a->record + a->record.bytes;
    if (bytes > sizeof a->record + KERNEL_AREA_BYTES)
        return;
    if (bpf_ringbuf_output(&ring, a, bytes, BPF_RB_NO_WAKEUP))
        add(KERNEL_COUNT_LOST, instants);
}

static struct area *own_area(void)
{
    const __u32 index = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&areas, &index);
}

/* A clock event stands for the time since the one before it, if the thread has run all that time: the period
 * varies, and an event comes late where the processor was kept busy or, of a virtual machine, was away.  0: for
 * less than an instant, by chance. */
static __u32 instants_until(__u64 now_ns, const struct kernel_thread *thread)
{
    const __u32 index = 0;
    __u64 *const ticked_ns = bpf_map_lookup_elem(&ticked, &index);
    const __u64 period = period_ns;
    if (!ticked_ns || !period)
        return 1;
    const int has_stayed = *ticked_ns >= thread->came_ns;
    const __u64 ran_ns = now_ns - (has_stayed ? *ticked_ns : thread->came_ns);
    const __u64 part = has_stayed ? (__u64)bpf_get_prandom_u32() * period >> 32 : period / 2;
    __u64 instants = (ran_ns + part) / period;
    *ticked_ns = now_ns;
    if (!instants && !has_stayed)
        instants = 1;
    return instants > KERNEL_MAX_INSTANTS ? KERNEL_MAX_INSTANTS : instants;
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
    a->record.instants = 0;
}

/* Reports a thread that is not in the map, at most every millisecond. */
static void report_unknown(__u32 pid, __u32 tid)
{
    struct kernel_record record = { .kind = KERNEL_UNKNOWN, .pid = pid, .tid = tid };
    record.time_ns = bpf_ktime_get_ns();
    const __u64 *const last_ns = bpf_map_lookup_elem(&reported, &tid);
    if (last_ns && record.time_ns - *last_ns < 1000000)
        return;
    bpf_map_update_elem(&reported, &tid, &record.time_ns, BPF_ANY);
    bpf_ringbuf_output(&ring, &record, sizeof record, BPF_RB_NO_WAKEUP);
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
        emit(a, a->record.instants);
    else
        add(KERNEL_COUNT_FAULTED, a->record.instants);
    return 0;
}

/* A thread in the map.  One that has ended may still be there when another process gets its number. */
static struct kernel_thread *known_thread(struct task_struct *task, __u32 *tid)
{
    *tid = number_of(task);
    struct kernel_thread *const thread = bpf_map_lookup_elem(&threads, tid);
    return thread && thread->pid == process_of(task) ? thread : 0;
}

static void leave(struct task_struct *task, int is_preempted)
{
    __u32 tid;
    struct kernel_thread *const thread = known_thread(task, &tid);
    if (!thread)
        return;
    const unsigned int state = BPF_CORE_READ(task, __state);
    if (state & STATE_DEAD) {
        bpf_map_delete_elem(&threads, &tid);
        return;
    }
    const struct kernel_process *const process = bpf_map_lookup_elem(&processes, &thread->pid);
    struct area *const a = own_area();
    if (!process || !a)
        return;
    begin(a, KERNEL_LEFT, thread->pid, tid);
    a->process = *process;
    thread->left_ns = a->record.time_ns;
    if (is_preempted || state == 0)
        a->record.flags |= KERNEL_RUNNABLE;
    struct pt_regs *const regs = (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    a->record.system_call = (int)BPF_CORE_READ(regs, orig_ax);
    /* Without a stack too: the record of its return stands for the instants between, and they fail. */
    take(a, thread);
    emit(a, 0);
}

static void come_back(struct task_struct *task)
{
    __u32 tid;
    struct kernel_thread *const thread = known_thread(task, &tid);
    if (!thread || !thread->left_ns)
        return;
    struct kernel_record record = { .kind = KERNEL_RETURNED, .pid = thread->pid, .tid = tid };
    record.time_ns = bpf_ktime_get_ns();
    record.left_ns = thread->left_ns;
    thread->left_ns = 0;
    thread->came_ns = record.time_ns;
    /* A short absence counts as often as an instant falls into it. */
    const __u64 away_ns = record.time_ns - record.left_ns;
    const __u64 period = period_ns;
    if (away_ns < min_away_ns && away_ns < period &&
        (__u64)bpf_get_prandom_u32() * period >> 32 >= away_ns)
        return;
    if (bpf_ringbuf_output(&ring, &record, sizeof record, BPF_RB_NO_WAKEUP))
        add(KERNEL_COUNT_LOST, away_ns < period ? 1 : away_ns / period);
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
