/*
 * recorder - a capture of a live session: samples go from the sampling thread to a file.
 *
 *     recorder_create    before the sampler starts: its sink is for the sampler's options
 *     recorder_begin     once there is a profile and a target: writes the facts, starts the thread
 *     recorder_finish    after sampling has ended: writes the rest and the end
 *
 * The sampling thread only puts runs into a chunk in memory and hands it over when it is full or
 * its window is closed; a thread of the recorder encodes, compresses and writes.  When it falls
 * behind by RECORDER_MAX_CHUNKS, samples are not written but counted as lost, and the capture
 * says so.  A write that fails ends the file and not the sampling: `failed` is called once, on
 * the recorder's thread, and recorder_finish gives the same error.  Whatever happens, the samples
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

struct capture_facts;
struct profile;
struct recorder;
struct sink;

enum {
    RECORDER_CHUNK_RUNS = 1024,
    RECORDER_MAX_CHUNKS = 256,
    RECORDER_MAX_OPEN_RUNS = 1 << 19, /* of a block, as runs of one window stay together */
};

MUST_CHECK enum err_code recorder_create(struct recorder **out, struct err *err);
/* Ends the thread without writing the end, if recorder_finish was not called.  NULL is fine.
 * The sampler must have ended. */
void recorder_destroy(struct recorder *recorder);

const struct sink *recorder_sink(const struct recorder *recorder);

/* Writes to fd from where it stands.  facts: those of the start, without unit_ns. */
MUST_CHECK enum err_code recorder_begin(struct recorder *recorder, int fd,
                                        struct profile *profile,
                                        const struct capture_facts *facts,
                                        void (*failed)(void *context, const struct err *err),
                                        void *context, struct err *err);

/* end: the facts known only now; `lost` is added.  Waits until all is written. */
MUST_CHECK enum err_code recorder_finish(struct recorder *recorder,
                                         const struct capture_facts *end, struct err *err);

/* After the end. */
uint64_t recorder_bytes(const struct recorder *recorder);
uint64_t recorder_samples(const struct recorder *recorder);
uint64_t recorder_lost(const struct recorder *recorder);

#endif /* SAMPLER_CAPTURE_LIVE_CAPTURE_H */
