/*
 * blocks - cuts the selected range of a report into slices of time of about the same length.
 *
 * Samples are known window by window, so a block is whole windows.  A range of few windows has as few
 * blocks; one whose old windows have been merged too.
 *
 * Units: nanoseconds since the session began.
 * Limits: BLOCKS_MAX.
 */
#ifndef SERVER_REPORT_DIFF_BLOCKS_H
#define SERVER_REPORT_DIFF_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct profile_snapshot;

enum { BLOCKS_MAX = 24 };

struct blocks {
    size_t count;
    struct block {
        uint64_t from_ns, to_ns; /* windows that start at or after, and before */
    } items[BLOCKS_MAX];         /* in order, without gaps */
};

void blocks_cut(struct blocks *blocks, const struct profile_snapshot *snapshot,
                uint64_t from_ns, uint64_t to_ns);

#endif /* SERVER_REPORT_DIFF_BLOCKS_H */
