/*
 * joined - the captures of both sides of a comparison as one profile.
 *
 * Each block (blocks.h) of each capture is a window of the profile: block i starts at instant i and
 * ends at i + 1.  Functions are the same if name and file are, paths if their functions are; lines
 * and threads are left out.
 *
 * Ownership: joined_deinit frees everything, also the profile, and accepts a zeroed one.
 * Limits: those of a profile, for all captures together; JOINED_MAX_BLOCKS.
 */
#ifndef SERVER_REPORT_DIFF_JOINED_H
#define SERVER_REPORT_DIFF_JOINED_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "server/report/diff/blocks.h"
#include "server/report/diff/sides.h"

enum joined_side { JOINED_BASELINE, JOINED_NOW, JOINED_SIDES };

enum { JOINED_MAX_BLOCKS = JOINED_SIDES * COMPARISON_MAX_CAPTURES * BLOCKS_MAX };

struct joined {
    enum comparison_basis basis;
    const struct comparison_side *captures[JOINED_SIDES];
    struct profile *profile;
    struct profile_snapshot snapshot;
    thread_id thread; /* the only one */
    uint64_t samples[JOINED_SIDES];
    double all[JOINED_SIDES]; /* what shares are of: the sum of the blocks' */
    size_t block_count;
    struct joined_block {
        enum joined_side side;
        const struct report_source *capture;
        double all; /* samples, or time in samples */
    } blocks[JOINED_MAX_BLOCKS];
};

MUST_CHECK enum err_code joined_init(struct joined *joined,
                                     const struct comparison_side *baseline,
                                     const struct comparison_side *now,
                                     enum comparison_basis basis, struct err *err);
void joined_deinit(struct joined *joined);

#endif /* SERVER_REPORT_DIFF_JOINED_H */
