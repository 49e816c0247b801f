#include "server/report/diff/blocks.h"

#include <math.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/window.h"

void blocks_cut(struct blocks *blocks, const struct profile_snapshot *snapshot,
                uint64_t from_ns, uint64_t to_ns)
{
    size_t newest = 0;
    blocks->count = 0;
    for (size_t i = 0; i < snapshot->window_count; i++) {
        const uint64_t start_ns = snapshot->windows[i]->start_ns;
        if (start_ns < from_ns || start_ns >= to_ns)
            continue;
        /* Which of BLOCKS_MAX equal slices an instant lies in. */
        const double part = (double)(start_ns - from_ns) / (double)(to_ns - from_ns);
        const size_t slice = (size_t)fmin(part * BLOCKS_MAX, BLOCKS_MAX - 1);
        if (blocks->count > 0 && slice <= newest)
            continue;
        if (blocks->count > 0)
            blocks->items[blocks->count - 1].to_ns = start_ns;
        blocks->items[blocks->count] =
            (struct block){ blocks->count > 0 ? start_ns : from_ns, to_ns };
        blocks->count++;
        newest = slice;
    }
}
