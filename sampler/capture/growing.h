/*
 * growing - a live capture that grows: its blocks become a profile as they come.
 *
 *     growing_read      the preamble at first, then a block at a time
 *     growing_seal      after a CAPTURE_STATE block: the window before it becomes part of the profile
 *
 * Who calls it decodes the blocks CAPTURE_STATE and CAPTURE_END, which are in `raw`.
 *
 * Ownership: the caller's storage; growing_deinit accepts a zeroed one.  The profile is borrowed.
 * Threads: one at a time; it is the writer of the profile.
 * Limits: of a block, see format.h; the tables take at most table_bytes.
 * Errors: ERR_NOT_FOUND: the other end was closed between two blocks; ERR_GONE: within one, or it was
 * cancelled; ERR_CORRUPT: what came is not a live capture; ERR_LIMIT.
 * Units: nanoseconds since the session began.
 */
#ifndef SAMPLER_CAPTURE_GROWING_H
#define SAMPLER_CAPTURE_GROWING_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/capture/block.h"
#include "sampler/capture/metadata.h"
#include "sampler/capture/names.h"
#include "sampler/capture/reader.h"
#include "sampler/capture/windows.h"
#include "sampler/profile/memory_log.h"

struct growing {
    struct profile *profile;
    size_t table_bytes; /* 0: no bound */
    struct profile_sizes sizes;
    struct capture_metadata metadata; /* points into start_bytes */
    bool has_metadata;
    struct names names;
    struct block_chain chain;
    struct buffer stored, raw, start_bytes;
    struct windows_block block;                   /* the last one, until growing_seal */
    struct windows_block measured[MEASURE_COUNT]; /* likewise, of other measures */
    struct memory_log memory;                     /* likewise */
    struct windows_places places;
    uint64_t last_ns[MEASURE_COUNT];
};

/* Fills `out`.  Its errors are those above. */
typedef enum err_code growing_fill(void *context, void *out, size_t bytes, struct err *err);

void growing_init(struct growing *growing, struct profile *profile, size_t table_bytes);
void growing_deinit(struct growing *growing);
/* Reads a block; rows and samples are taken, a block of other kinds is for the caller. */
MUST_CHECK enum err_code growing_read(struct growing *growing, growing_fill *fill,
                                      void *context, enum capture_kind *kind_out,
                                      struct err *err);
/* Adds the memory of processes and the windows of the last block to the profile and publishes the counters of the state.  take: gets each
 * window after that; NULL: nobody. */
typedef void growing_take(void *context, const struct capture_window *window);
MUST_CHECK enum err_code growing_seal(struct growing *growing, const struct quality *quality,
                                      uint64_t end_ns, growing_take *take, void *context,
                                      struct err *err);

#endif /* SAMPLER_CAPTURE_GROWING_H */
