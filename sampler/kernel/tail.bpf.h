/*
 * tail - leaves out the outer frames of a stack if the profiler has them: see record.h.  A part of stacks.bpf.c.
 *
 * They are copied and walked all the same, for nothing else shows that they are where they were.  But they need not be
 * passed on and taken, which costs more.
 */
#ifndef SAMPLER_KERNEL_TAIL_BPF_H
#define SAMPLER_KERNEL_TAIL_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    CHUNK_BYTES = 1 << 14,     /* of the usual size */
    TAIL_INNER_BYTES = 1 << 9, /* in front of it, at first */
    TAIL_LEAST_BYTES = 1 << 10,
    TAIL_MANY_HITS = 64,
    TAIL_MISSES = 2,         /* in a row; then another place is tried */
    TAIL_AGAIN_NS = 1 << 25, /* of a stack that is larger than a record */
};

/* If what was thought to stay did not, less of it does; if it stayed for long, perhaps more. */
static __always_inline __u64 inner_bytes_after(const struct kernel_tail *last)
{
    const __u64 inner = last->inner_bytes;
    if (!last->from)
        return TAIL_INNER_BYTES;
    if (!last->hits)
        return 2 * inner;
    return last->hits < TAIL_MANY_HITS || inner == TAIL_INNER_BYTES ? inner : inner / 2;
}

/* Chooses the place where the tail of the stack begins, in the newest chunk, unless the last place was good. */
static __always_inline void place_tail(struct area *a, const struct kernel_thread *thread,
                                       __u64 newest, __u64 top)
{
    const struct kernel_tail *const last = &thread->tail;
    /* While a chunk is added or given back, the top is not in the one that is called the newest. */
    if (!a->process.frame_instr || top - newest > CHUNK_BYTES)
        return;
    a->tail = *last;
    if (last->from && last->misses < TAIL_MISSES)
        return;
    const __u64 inner = inner_bytes_after(last);
    a->tail.from =
        top - newest > inner + TAIL_LEAST_BYTES ? (top - inner) & ~(__u64)(WORD - 1) : 0;
    a->tail.sum = a->tail.hits = a->tail.misses = 0;
    a->tail.inner_bytes = inner;
    a->has_new_tail = 1;
}

static __always_inline void begin_tail(struct area *a)
{
    a->tail_at = a->record.bytes;
    a->tail_sum = mix(switches.forgets, a->frame);
}

/* Adds the frame whose bytes lie there; `caller` is the next one. */
static __always_inline void add_to_tail(struct area *a, __u64 at, __u64 caller)
{
    const __u64 code = word_at(a, at + a->process.code.of_frame);
    const __u64 instr = word_at(a, at + a->process.frame_instr);
    a->tail_sum =
        mix(a->tail_sum, instr ^ (code << 24 | code >> 40) ^ (caller << 44 | caller >> 20));
}

/* The walk has not come to the place of the tail.  Of a small stack that says nothing. */
static __always_inline void miss_tail(const struct area *a, struct kernel_tail *tail)
{
    if (a->record.bytes - a->window_bytes > 2 * tail->inner_bytes + TAIL_LEAST_BYTES)
        tail->misses++;
}

/* The outermost frames of a stack that is larger than a record are not compared, so they are read again now and then,
 * and whenever the stack was smaller in between. */
static __always_inline int is_tail_old(const struct area *a, const struct kernel_tail *last)
{
    return (a->record.flags & KERNEL_NO_ROOM) &&
           a->record.time_ns - last->sent_ns > TAIL_AGAIN_NS;
}

/* The walk is done: is its tail the last one? */
__noinline int settle_tail(struct area *a, struct kernel_thread *thread)
{
    if (!a || !thread)
        return 0;
    struct kernel_tail *const last = &thread->tail;
    const __u64 at = a->tail_at, sum = a->tail_sum | 1;
    if (a->record.flags & KERNEL_FAULTED) {
        a->has_new_tail = 0;
    } else if (!at) {
        if (!a->has_new_tail)
            miss_tail(a, last);
        if (last->is_cut)
            last->from = 0;
    } else if (!a->has_new_tail && sum == last->sum && !is_tail_old(a, last)) {
        a->record.bytes = a->record.tail_at = at;
        a->record.tail_ns = last->sent_ns;
        last->hits++;
        last->misses = at - a->window_bytes > 4 * last->inner_bytes ? last->misses + 1 : 0;
    } else {
        a->record.tail_at = at;
        a->tail.sum = sum;
        a->tail.is_cut = a->record.flags & KERNEL_NO_ROOM;
        a->tail.sent_ns = a->record.time_ns;
        a->tail.misses += !a->has_new_tail && sum != last->sum;
        a->has_new_tail = 1;
    }
    return 1;
}

#endif /* SAMPLER_KERNEL_TAIL_BPF_H */
