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

#include <stdbool.h>
#include <stdint.h>

#define QUALITY_COUNTERS(X)                                                                   \
    X(ticks, "instants at which the target was looked at")                                    \
    X(missed, "instants skipped because the profiler was late")                               \
    X(samples, "threads seen")                                                                \
    X(exact, "samples whose stack is certain")                                                \
    X(repaired, "samples of a moving stack, pinned to one instant by two readings")           \
    X(retried, "samples that were read again because the first reading did not fit together") \
    X(truncated, "samples whose innermost frames are missing, marked <truncated>")            \
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
    X(code_stale, "code objects found changed at a known address")                            \
    X(code_clears, "times all code objects were forgotten because too many had been")         \
    X(tasks, "asyncio tasks seen, each time that all of them were looked at")                 \
    X(tasks_moving, "asyncio tasks that moved while they were read")

struct quality {
#define X(name, text) uint64_t name;
    QUALITY_COUNTERS(X)
#undef X
    /* From one look to the next. */
    uint64_t interval_count, interval_sum_ns, interval_least_ns, interval_most_ns;
    uint64_t looked_ns; /* the last look; 0: none, or there was a pause since */
};

/* Counts the interval that ends with a look at now_ns (any clock, not 0). */
static inline void quality_note_tick(struct quality *quality, uint64_t now_ns)
{
    const uint64_t interval_ns = now_ns - quality->looked_ns;
    const bool is_first = !quality->looked_ns;
    quality->looked_ns = now_ns;
    if (is_first)
        return;
    if (!quality->interval_count++ || interval_ns < quality->interval_least_ns)
        quality->interval_least_ns = interval_ns;
    if (interval_ns > quality->interval_most_ns)
        quality->interval_most_ns = interval_ns;
    quality->interval_sum_ns += interval_ns;
}

/* The time until the next look is none that was waited between two. */
static inline void quality_note_pause(struct quality *quality)
{
    quality->looked_ns = 0;
}

#endif /* SAMPLER_PROFILE_QUALITY_H */
