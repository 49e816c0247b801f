/*
 * outer - copies a deep C stack, and sends its outer part only if it has changed.  A part of stacks.bpf.c.
 *
 * A stack whose inner frames come and go has the same outer ones for long.  A copy and a checksum of them cost less
 * than to pass them on and to take them.
 */
#ifndef SAMPLER_KERNEL_OUTER_BPF_H
#define SAMPLER_KERNEL_OUTER_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    DEEP_BLOCK_BYTES = 256,
    DEEP_BLOCK_WORDS = DEEP_BLOCK_BYTES / WORD,
    MAX_DEEP_BLOCKS = KERNEL_MAX_STACK / DEEP_BLOCK_BYTES + 1,
    DEEP_END = KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES /* of a record's spans */
};

/* Only the first span of a stack is larger than KERNEL_STACK_BYTES: that is what there is room for. */
static __noinline int read_deep_stack(struct area *a, __u64 from, __u64 bytes)
{
    if (!a)
        return 0;
    const __u64 at = (__u64)a->record.bytes + sizeof(struct kernel_native);
    if (at > KERNEL_AREA_BYTES + sizeof(struct kernel_native) || bytes > KERNEL_MAX_STACK ||
        a->record.native_bytes != sizeof(struct kernel_native))
        return 0;
    return !bpf_probe_read_user(a->bytes + at + sizeof(struct kernel_span),
                                bytes & (2 * KERNEL_MAX_STACK - 1), (void *)from);
}

/* Appends a span of the C stack; false: some of its memory is not there. */
__noinline int put_stack(struct area *a, __u64 from, __u64 to)
{
    if (!a)
        return 0;
    const __u64 bytes = to - from;
    const __u64 at = (__u64)a->record.bytes + a->record.native_bytes;
    if (at > KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES)
        return 0;
    struct kernel_span *const span = (struct kernel_span *)(a->bytes + at);
    if (bytes > KERNEL_STACK_BYTES) {
        if (!read_deep_stack(a, from, bytes))
            return 0;
    } else if (bpf_probe_read_user(a->bytes + at + sizeof *span,
                                   bytes & (2 * KERNEL_STACK_BYTES - 1), (void *)from)) {
        return 0;
    }
    span->addr = from;
    span->bytes = bytes;
    span->is_padded = 0;
    a->record.native_bytes += sizeof *span + ((bytes + WORD - 1) & ~(WORD - 1));
    return 1;
}

static long sum_deep_block(__u32 i, void *context)
{
    struct area *const a = ((struct walk *)context)->area;
    __u64 at = a->sum_at;
    barrier_var(at);
    if (at >= a->sum_end || at > DEEP_END)
        return 1;
    const __u64 *const words = (const __u64 *)(a->bytes + at);
    __u64 first = a->sums[0], second = a->sums[1], third = a->sums[2], fourth = a->sums[3];
    for (int word = 0; word < DEEP_BLOCK_WORDS; word += 4) {
        first = mix(first, words[word]);
        second = mix(second, words[word + 1]);
        third = mix(third, words[word + 2]);
        fourth = mix(fourth, words[word + 3]);
    }
    a->sums[0] = first;
    a->sums[1] = second;
    a->sums[2] = third;
    a->sums[3] = fourth;
    a->sum_at = at + DEEP_BLOCK_BYTES;
    return 0;
}

/* The sum of the last `bytes` bytes of the copy. */
static __noinline __u64 sum_of_outer(struct area *a, __u64 bytes)
{
    struct walk walk = { a };
    if (!a)
        return 0;
    const __u64 end = (__u64)a->record.bytes + a->record.native_bytes;
    if (end > DEEP_END || bytes > end)
        return 0;
    /* The last block may end behind it. */
    __builtin_memset(a->bytes + end, 0, DEEP_BLOCK_BYTES);
    a->sum_at = end - bytes;
    a->sum_end = end;
    a->sums[0] = switches.forgets;
    a->sums[1] = bytes;
    a->sums[2] = a->sums[3] = 0;
    bpf_loop(MAX_DEEP_BLOCKS, sum_deep_block, &walk, 0);
    return mix(mix(a->sums[0], a->sums[1]), mix(a->sums[2], a->sums[3])) | 1;
}

/* The outer part that the profiler has is that of the stack that has just been copied from `from` on. */
static __always_inline int has_same_outer(struct area *a, const struct kernel_outer *last,
                                          __u64 from, __u64 base)
{
    return last->from > from && last->from < base && last->base == base &&
           last->sum == sum_of_outer(a, base - last->from);
}

/* A stack is copied whole, however deep it is, if it is that deep because C code and Python call each other.  Then
 * its outer part is left out if the profiler has it.  false: it is not such a stack, or there is no room. */
static __noinline int put_deep_stack(struct area *a, struct kernel_thread *thread, __u64 from,
                                     __u64 base)
{
    if (!a || !thread)
        return 0;
    const __u64 bytes = base - from;
    const __u64 at = a->record.bytes;
    if (at > KERNEL_AREA_BYTES || bytes > KERNEL_MAX_STACK ||
        bytes > KERNEL_STACK_BYTES + a->calls * KERNEL_CALL_BYTES || base % WORD ||
        !put_stack(a, from, base))
        return 0;
    struct kernel_native *const native = (struct kernel_native *)(a->bytes + at);
    struct kernel_span *const span = (struct kernel_span *)(a->bytes + at + sizeof *native);
    const struct kernel_outer last = thread->outer;
    if (has_same_outer(a, &last, from, base)) {
        native->outer_from = last.from;
        native->outer_ns = last.sent_ns;
        span->bytes = last.from - from;
        a->record.native_bytes =
            sizeof *native + sizeof *span + ((span->bytes + WORD - 1) & ~(WORD - 1));
        thread->outer.hits++;
        return 1;
    }
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > KERNEL_RING_BYTES / 2) {
        a->record.native_bytes = sizeof *native;
        return 0;
    }
    /* If what was thought to stay did not, less of it does. */
    __u64 inner = last.base == base && !last.hits ? 2 * last.inner_bytes : KERNEL_INNER_BYTES;
    if (inner > bytes / 2)
        inner = bytes / 2;
    native->outer_from = (from + inner) & ~(__u64)(WORD - 1);
    a->outer.from = native->outer_from;
    a->outer.base = base;
    a->outer.sum = sum_of_outer(a, base - native->outer_from);
    a->outer.sent_ns = a->record.time_ns;
    a->outer.inner_bytes = inner;
    a->outer.hits = 0;
    return 1;
}

#endif /* SAMPLER_KERNEL_OUTER_BPF_H */
