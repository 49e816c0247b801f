/*
 * same - sends a stack, or that it is the one that was sent last.  A part of stacks.bpf.c.
 *
 * A checksum of a whole stack costs as much as a copy of it, and a thread that runs never has the same one.  So it
 * is made only where the innermost frame, which holds the instruction, is as before.
 */
#ifndef SAMPLER_KERNEL_SAME_BPF_H
#define SAMPLER_KERNEL_SAME_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    FRAME_WORDS = 16, /* of the innermost frame, at most */
    BLOCK_BYTES = 128,
    BLOCK_WORDS = BLOCK_BYTES / WORD,
    MAX_BLOCKS = KERNEL_AREA_BYTES / BLOCK_BYTES
};

static __u64 wake_for(__u32 why)
{
    if (switches.is_woken & why)
        return BPF_RB_NO_WAKEUP;
    switches.is_woken |= why;
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

/* Appends the kernel part. */
__noinline int put_kernel_part(struct area *a)
{
    enum { BELOW = 1024 };
    _Static_assert(sizeof a->calls_in_kernel < BELOW, "");
    if (!a)
        return 0;
    const __u64 at = (__u64)a->record.bytes + a->record.native_bytes;
    if (at > KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES)
        return 0;
    return !bpf_probe_read_kernel(a->bytes + at, a->record.kernel_bytes & (BELOW - 1),
                                  a->calls_in_kernel);
}

/* `instants`: those that the record stands for.  false: they are lost. */
static int emit(struct area *a, struct kernel_thread *thread, __u64 instants)
{
    const __u64 bytes =
        sizeof a->record + a->record.bytes + a->record.native_bytes + a->record.kernel_bytes;
    if (bytes > sizeof a->record + KERNEL_AREA_BYTES + KERNEL_NATIVE_BYTES + SPAN_ROOM)
        return 0;
    if (a->record.kernel_bytes && !put_kernel_part(a))
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

static long sum_block(__u32 i, void *context)
{
    struct area *const a = ((struct walk *)context)->area;
    const __u64 at = a->sum_at;
    if (at >= a->record.bytes)
        return 1;
    const __u64 *const words = (const __u64 *)(a->bytes + (at & (KERNEL_AREA_BYTES - 1)));
    __u64 even = a->sums[0], odd = a->sums[1];
    for (int word = 0; word < BLOCK_WORDS; word += 2) {
        even = mix(even, words[word]);
        odd = mix(odd, words[word + 1]);
    }
    a->sums[0] = even;
    a->sums[1] = odd;
    a->sum_at = at + BLOCK_BYTES;
    return 0;
}

/* The sum of the spans but the windows, and of what the profiler knows of the process; not 0. */
static __noinline __u64 sum_of_stack(struct area *a, const struct kernel_process *process)
{
    struct walk walk = { a };
    if (!a || !process || a->record.bytes > KERNEL_AREA_BYTES)
        return 0;
    /* The last block may end behind the last span. */
    __builtin_memset(a->bytes + (a->record.bytes & (2 * KERNEL_AREA_BYTES - 1)), 0,
                     BLOCK_BYTES);
    a->sum_at = a->window_bytes;
    a->sums[0] = mix(process->descriptions, process->serial);
    a->sums[1] = mix(switches.forgets + a->record.tail_ns, a->record.bytes - a->window_bytes);
    bpf_loop(MAX_BLOCKS, sum_block, &walk, 0);
    return mix(a->sums[0], a->sums[1]) | 1;
}

/* 0: the stack is not repeated. */
static __noinline __u64 sum_of_frame(struct area *a)
{
    if (!a || a->process.wants_native || (a->record.flags & ~(__u32)KERNEL_RUNNABLE))
        return 0;
    __u64 sum = 1;
    for (__u64 i = 0; i < FRAME_WORDS && i < a->process.frame_bytes / WORD; i++)
        sum = mix(sum, word_at(a, a->innermost_at + i * WORD));
    return sum | 1;
}

/* `instants`: those that the record stands for. */
__noinline int send_stack(struct area *a, struct kernel_thread *thread,
                          const struct kernel_process *process, __u64 instants)
{
    if (!a || !thread || !process)
        return 0;
    const __u64 frame_sum = sum_of_frame(a);
    const __u64 sum =
        frame_sum && frame_sum == thread->frame_sum ? sum_of_stack(a, process) : 0;
    if (sum && sum == thread->sum) {
        a->record.same_ns = thread->sent_ns;
        a->record.bytes = a->window_bytes;
        a->record.tail_at = a->record.tail_ns = a->has_new_tail = 0;
    }
    if (!emit(a, thread, instants)) {
        thread->frame_sum = thread->sum = thread->outer.from = thread->tail.from = 0;
        return 0;
    }
    if (a->has_new_tail)
        thread->tail = a->tail;
    if (a->outer.from)
        thread->outer = a->outer;
    if (!a->record.same_ns) {
        thread->frame_sum = frame_sum;
        thread->sum = sum;
        thread->sent_ns = a->record.time_ns;
    }
    return 1;
}

#endif /* SAMPLER_KERNEL_SAME_BPF_H */
