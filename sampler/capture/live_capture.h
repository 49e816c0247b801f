/*
 * live_capture - the capture of a live session: samples go from the sampling thread to a file.
 *
 *     live_capture_create    before the session starts; its sink goes into the session's options
 *     live_capture_begin     once there is a profile and a target: writes the metadata, starts the thread
 *     live_capture_finish    after sampling has ended: writes the rest and the end
 *
 * The sampling thread only puts runs into a chunk in memory.  It hands the chunk over when the chunk is
 * full or its window is closed.  The capture's own thread encodes, compresses and writes.  If that
 * thread falls behind by LIVE_CAPTURE_MAX_CHUNKS, samples are lost; the capture stores their number.
 * If a write fails, the file ends there and sampling goes on: `failed` is called once, on the
 * capture's thread, and live_capture_finish returns the same error.  Every sample that the sink
 * received is either in the file or counted as lost.
 *
 * Ownership: the capture owns its thread and its chunks; the descriptor is the caller's.
 * Threads: the sink is for the sampling thread; the other functions are for one other thread.
 */
#ifndef SAMPLER_CAPTURE_LIVE_CAPTURE_H
#define SAMPLER_CAPTURE_LIVE_CAPTURE_H

#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct buffer;
struct capture_metadata;
struct profile;
struct live_capture;
struct sink;

enum {
    LIVE_CAPTURE_CHUNK_RUNS = 1024,
    LIVE_CAPTURE_MAX_CHUNKS = 256,
    LIVE_CAPTURE_MAX_OPEN_RUNS = 1 << 19, /* of a block: the runs of a window stay together */
};

MUST_CHECK enum err_code live_capture_create(struct live_capture **out, struct err *err);
/* Ends the thread without writing the end, if live_capture_finish was not called.  NULL is fine.
 * The session must have ended. */
void live_capture_destroy(struct live_capture *capture);

const struct sink *live_capture_sink(const struct live_capture *capture);

/* Writes to fd from its current position.  metadata: of the start, without unit_ns. */
MUST_CHECK enum err_code live_capture_begin(
    struct live_capture *capture, int fd, struct profile *profile,
    const struct capture_metadata *metadata,
    void (*failed)(void *context, const struct err *err), void *context, struct err *err);

/* The state at the end of a window. */
struct live_capture_seal {
    uint64_t end_ns;
    struct quality quality;
    uint64_t lost;             /* samples so far that could not be written in time */
    struct profile_sizes rows; /* that were written before the state */
};

/* Instead of live_capture_begin: the capture goes to a process that waits for it (writer_init_live).
 * put: appends the bytes of the CAPTURE_STATE block that follows each window; called on the capture's thread, and
 * on this one for the first and the last. */
typedef void live_capture_put(void *context, const struct live_capture_seal *seal,
                              struct buffer *out);
MUST_CHECK enum err_code live_capture_begin_live(
    struct live_capture *capture, int fd, struct profile *profile,
    const struct capture_metadata *metadata, live_capture_put *put,
    void (*failed)(void *context, const struct err *err), void *context, struct err *err);

/* end: metadata of the end; `lost` is added.  texts: of source files (source_texts.h); NULL or empty: none.  Waits until
 * everything is written. */
MUST_CHECK enum err_code live_capture_finish(struct live_capture *capture,
                                             const struct capture_metadata *end,
                                             const struct buffer *texts, struct err *err);

/* For after live_capture_finish. */
uint64_t live_capture_bytes(const struct live_capture *capture);
uint64_t live_capture_samples(const struct live_capture *capture);
uint64_t live_capture_lost(const struct live_capture *capture);

#endif /* SAMPLER_CAPTURE_LIVE_CAPTURE_H */
