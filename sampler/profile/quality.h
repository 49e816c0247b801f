/*
 * quality - how right the profile is: counters the sampling thread keeps and everyone may see.
 *
 * A tick is an instant at which the targets were looked at; a sample is one thread seen at a
 * tick.  Every sample is exactly one of exact, repaired, retried or truncated; a thread that
 * could not be read is failed, by reason, and is not a sample.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_PROFILE_QUALITY_H
#define SAMPLER_PROFILE_QUALITY_H

#include <stdint.h>

#define QUALITY_COUNTERS(X)                                                                   \
    X(ticks, "instants at which the target was looked at")                                    \
    X(missed, "instants skipped because the profiler was late")                               \
    X(samples, "threads seen")                                                                \
    X(exact, "samples whose stack is certain")                                                \
    X(repaired, "samples of a moving stack, pinned to one instant by two readings")           \
    X(retried, "samples that were read again because the first reading did not fit together") \
    X(truncated, "samples whose outer frames are missing, marked <truncated>")                \
    X(failed_gone, "threads that ended while being read")                                     \
    X(failed_fault, "threads whose memory was not mapped when it was read")                   \
    X(failed_perm, "threads we were not allowed to read")                                     \
    X(failed_corrupt, "threads whose memory made no sense")                                   \
    X(folded,                                                                                 \
      "samples of places that memory had no room for, counted at the nearest caller it had")  \
    X(filtered, "threads seen but not kept, by the mode of recording")                        \
    X(stood_in,                                                                               \
      "samples counted for threads that were not looked at, where there are too many")        \
    X(stopped_ns, "nanoseconds for which the target was stopped")                             \
    X(reads, "calls to process_vm_readv")                                                     \
    X(read_bytes, "bytes read from the target")                                               \
    X(code_hits, "frames whose code object was known")                                        \
    X(code_misses, "code objects read")                                                       \
    X(code_stale, "code objects found changed at a known address")

struct quality {
#define X(name, text) uint64_t name;
    QUALITY_COUNTERS(X)
#undef X
};

#endif /* SAMPLER_PROFILE_QUALITY_H */
