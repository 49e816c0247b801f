/*
 * area - where a processor makes a record, and how memory gets into it.  A part of stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_AREA_BPF_H
#define SAMPLER_KERNEL_AREA_BPF_H

#include "sampler/kernel/record.h"
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
    SPAN_ROOM = sizeof(struct kernel_span) + KERNEL_MAX_SPAN + 8,
    WORD = 8,
    FINGERPRINT_WORDS = 16,
    NAME_WORDS = 2,
    RECENT = 1 << 9, /* a power of 2 */
    PAGE_BYTES = 4096,
    STACK_PAGES = KERNEL_MAX_STACK / PAGE_BYTES + 1
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
    __u32 is_held;    /* by a program that others may interrupt */
    __u64 generation; /* of code objects: what was read in the same one is still right */
    __u64 innermost;  /* frames whose code is checked again soon, whatever the generation is */
    __u64 fingerprint[FINGERPRINT_WORDS + NAME_WORDS];
    __u64 calls_in_kernel[KERNEL_MAX_CALLS]; /* the kernel part; record.kernel_bytes of them */
    struct kernel_record code;               /* a description, while it is made */
    unsigned char code_bytes[KERNEL_CODE_BYTES + SPAN_ROOM];
    /* Code objects met on this processor of late, by address: like `codes`, but quicker. */
    struct recent_code {
        __u64 key, generation, met_ns;
    } recent[RECENT];
};

/* By processor, and shared by all engines.  A tick does not interrupt a switch, nor a switch a tick; the sample of
 * memory that is given back may be interrupted by both, and holds its area meanwhile.  (A per-processor map takes no values of this
 * size.) */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct area);
} areas SEC(".maps");

/* The program has no other variables: the profiler maps them all. */
volatile struct kernel_switches switches;

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

/* The context of a step of a loop. */
struct walk {
    struct area *area;
};

#endif /* SAMPLER_KERNEL_AREA_BPF_H */
