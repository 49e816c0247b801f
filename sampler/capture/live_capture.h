/*
 * recorder - a capture of a live session: samples go from the sampling thread to a file.
 *
 *     live_capture_create    before the sampler starts: its sink is for the sampler's options
 *     live_capture_begin     once there is a profile and a target: writes the facts, starts the thread
 *     live_capture_finish    after sampling has ended: writes the rest and the end
 *
 * The sampling thread only puts runs into a chunk in memory and hands it over when it is full or
 * its window is closed; a thread of the recorder encodes, compresses and writes.  When it falls
 * behind by LIVE_CAPTURE_MAX_CHUNKS, samples are not written but counted as lost, and the capture
 * says so.  A write that fails ends the file and not the sampling: `failed` is called once, on
 * the recorder's thread, and live_capture_finish gives the same error.  Whatever happens, the samples
 * the sink was given are those in the file and those lost.
 *
 * Ownership: the recorder owns its thread and its chunks; the descriptor is the caller's.
 * Threads: the sink is for the sampling thread, the rest for one other.
 * Depends on: profile (sink), writer, facts.
 */
#ifndef SAMPLER_CAPTURE_LIVE_CAPTURE_H
#define SAMPLER_CAPTURE_LIVE_CAPTURE_H

#include <stdint.h>

#include "sampler/base/err.h"

struct capture_metadata;
struct profile;
struct live_capture;
struct sink;

enum {
    LIVE_CAPTURE_CHUNK_RUNS = 1024,
    LIVE_CAPTURE_MAX_CHUNKS = 256,
    LIVE_CAPTURE_MAX_OPEN_RUNS = 1 << 19, /* of a block, as runs of one window stay together */
};

MUST_CHECK enum err_code live_capture_create(struct live_capture **out, struct err *err);
/* Ends the thread without writing the end, if live_capture_finish was not called.  NULL is fine.
 * The sampler must have ended. */
void live_capture_destroy(struct live_capture *capture);

const struct sink *live_capture_sink(const struct live_capture *capture);

/* Writes to fd from where it stands.  facts: those of the start, without unit_ns. */
MUST_CHECK enum err_code live_capture_begin(
    struct live_capture *capture, int fd, struct profile *profile,
    const struct capture_metadata *metadata,
    void (*failed)(void *context, const struct err *err), void *context, struct err *err);

/* end: the facts known only now; `lost` is added.  Waits until all is written. */
MUST_CHECK enum err_code live_capture_finish(struct live_capture *capture,
                                             const struct capture_metadata *end,
                                             struct err *err);

/* After the end. */
uint64_t live_capture_bytes(const struct live_capture *capture);
uint64_t live_capture_samples(const struct live_capture *capture);
uint64_t live_capture_lost(const struct live_capture *capture);

#endif /* SAMPLER_CAPTURE_LIVE_CAPTURE_H */
