/*
 * growth - what a process has grown by, or given back, beside what samples say.
 *
 * A sample stands for the pages of its faults.  More than these become resident where the kernel gives several pages at once, as it
 * does for mapped files, where threads fault that no interpreter knows, or where samples were lost.  That part is
 * shown as not attributed.  Less is left where memory was returned meanwhile, or where a fault made nothing resident:
 * that says nothing of what became resident before, and is forgotten.  Where it is known what was returned, the caller adds that to
 * what is resident, and nothing hides growth.
 *
 * Memory that was returned is counted exactly by the engine, and `resident` is all of it; a sample comes once as much was
 * returned as its thread needs for one.
 *
 * The kernel counts the pages of a process by processor, and adds up only now and then, so a small difference says
 * nothing either.  Samples come later than memory grows, so what is missing counts once it was missing at the call before, too.
 *
 * Ownership: the caller's storage, zeroed at first.
 * Threads: none.
 * Units: pages.
 */
#ifndef SAMPLER_SESSION_KERNEL_GROWTH_H
#define SAMPLER_SESSION_KERNEL_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

struct growth {
    bool is_known;
    uint64_t resident;   /* when it was settled last */
    uint64_t attributed; /* by samples since then; the caller adds to it */
    int64_t balance;     /* grown, and not attributed */
};

/* The pages that became resident and are not attributed, which were not counted before.  processors: of the host; 0: the
 * count is exact.
 * is_last: no sample is missing. */
uint64_t growth_settle(struct growth *growth, uint64_t resident, unsigned processors,
                       bool is_last);

#endif /* SAMPLER_SESSION_KERNEL_GROWTH_H */
