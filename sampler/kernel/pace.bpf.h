/*
 * pace - how often pages of a thread are sampled.  A part of stacks.bpf.c.
 *
 * Each thread has a gap: what comes from one sample to the next.  The gap follows how fast it comes, so that in the long run
 * a thread has a sample each page_ns at most, and is known before the event that it chooses: so what a sample shows
 * has no influence on how much it stands for.  It varies by half, or a program that works in steps of its size would
 * always be seen at the same one.  Memory often grows and shrinks in bursts of some milliseconds, so samples
 * may come PACE_HASTE times as fast for a while.
 */
#ifndef SAMPLER_KERNEL_PACE_BPF_H
#define SAMPLER_KERNEL_PACE_BPF_H

#include "sampler/kernel/area.bpf.h"

enum {
    PACE_BURST = 1024, /* samples that may come fast, half of them at most */
    PACE_HASTE = 32,
    PACE_MAX_GAP = 1 << 20
};

/* Is a sample due that stands for so much? */
static __always_inline int is_due(struct kernel_pace *pace, __u64 due)
{
    const __u64 slow_ns = switches.page_ns, now_ns = bpf_ktime_get_ns();
    if (!slow_ns || !due || due < pace->gap)
        return 0;
    if (!pace->sampled_ns) {
        pace->room_ns = PACE_BURST * slow_ns;
        pace->sampled_ns = now_ns;
        return 1;
    }
    const __u64 since_ns = now_ns - pace->sampled_ns;
    __u64 room_ns = pace->room_ns + since_ns;
    if (room_ns > PACE_BURST * slow_ns)
        room_ns = PACE_BURST * slow_ns;
    const __u64 aim_ns = room_ns > PACE_BURST / 2 * slow_ns ? slow_ns / PACE_HASTE : slow_ns;
    pace->room_ns = room_ns > slow_ns ? room_ns - slow_ns : 0;
    __u64 gap = due > PACE_MAX_GAP ? PACE_MAX_GAP : due * aim_ns / (since_ns + 1);
    if (gap > 2 * due + 1)
        gap = 2 * due + 1;
    if (gap > PACE_MAX_GAP)
        gap = PACE_MAX_GAP;
    pace->gap = gap / 2 + ((__u64)bpf_get_prandom_u32() * (gap + 1) >> 32);
    pace->sampled_ns = now_ns;
    return 1;
}

#endif /* SAMPLER_KERNEL_PACE_BPF_H */
