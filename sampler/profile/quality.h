/*
 * quality - how right the profile is: counters that the sampling thread writes and everyone may read.
 *
 * A tick is one instant at which the targets are sampled; a sample is one thread's stack and state
 * at a tick.  Every sample is exactly one of exact, retried or truncated.  A thread that could not
 * be read is failed, by reason, and is not a sample.
 */
#ifndef SAMPLER_PROFILE_QUALITY_H
#define SAMPLER_PROFILE_QUALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A capture stores the names: one that changes goes into the table of capture/names.c. */
#define QUALITY_COUNTERS(X)                                                                    \
    X(ticks, "instants at which the targets were sampled")                                     \
    X(missed_ticks, "ticks skipped because the profiler was late")                             \
    X(samples, "stack samples collected, one per thread and tick")                             \
    X(exact, "samples whose stack is certain")                                                 \
    X(retried, "samples read again because the first reading was inconsistent or not whole")   \
    X(truncated, "samples whose innermost frames are missing, marked <truncated>")             \
    X(failed_gone, "threads that ended while they were read")                                  \
    X(failed_fault, "threads whose memory was not mapped when it was read")                    \
    X(failed_perm, "threads that the profiler was not permitted to read")                      \
    X(failed_corrupt, "threads with unreadable memory")                                        \
    X(overflowed,                                                                              \
      "samples counted at a caller because the profile had no room for their innermost frame") \
    X(filtered, "threads that the recording mode left out")                                    \
    X(extrapolated,                                                                            \
      "samples that stand for threads or tasks not sampled, where there are too many")         \
    X(unmatched, "samples of threads whose thread of the operating system is unknown")         \
    X(native_complete, "samples with all native frames")                                       \
    X(native_gaps, "samples that lack native frames, where they show <gap>")                   \
    X(native_gaps_no_table,                                                                    \
      "those of them that lack frames of code without unwinding tables, or from there on")     \
    X(native_gaps_copy, "those of them whose stack was not copied whole")                      \
    X(native_gaps_register, "those of them for which a register was unknown")                  \
    X(native_gaps_switch, "those of them that met a switch from one C stack to another")       \
    X(native_gaps_other, "those of them with other causes")                                    \
    X(native_mismatched, "samples whose native and Python frames do not come out even")        \
    X(native_none, "samples without native frames, because none could be copied")              \
    X(native_none_unstopped, "those of them whose thread was not stopped to be read")          \
    X(native_none_waiting, "those of them whose thread waited, and not where it seemed to")    \
    X(native_none_truncated, "those of them whose Python stack is truncated")                  \
    X(native_none_copy, "those of them whose registers or stack could not be read")            \
    X(native_entries,                                                                          \
      "calls of Python by C code, in samples with native frames that met no such switch")      \
    X(native_placed, "those of them that stand at their place among the native frames")        \
    X(moving, "samples of threads that were read while they moved")                            \
    X(stopped, "samples of threads that were stopped to be read")                              \
    X(stops_refused, "stops of targets that the kernel refused")                               \
    X(page_faults, "page faults of the targets while threads were stopped to be read")         \
    X(stopped_ns, "nanoseconds for which the target was stopped")                              \
    X(taken_ns, "nanoseconds that the kernel engine took of the targets, with its interrupts") \
    X(undelivered, "samples lost because the server did not take them in time")                \
    X(reads, "calls to process_vm_readv")                                                      \
    X(read_bytes, "bytes read from the target")                                                \
    X(code_hits, "frames whose code object was cached")                                        \
    X(code_misses, "code objects read")                                                        \
    X(code_stale, "code objects found changed at a known address")                             \
    X(code_clears, "times the cache of code objects was cleared because it was full")          \
    X(tasks, "asyncio tasks read, at every tick that reads them")                              \
    X(tasks_moving, "asyncio tasks that moved while they were read")                           \
    X(tasks_unread, "asyncio tasks whose frames were not read, because there are too many")    \
    X(tasks_cut, "readings of asyncio tasks that lack tasks, frames or awaiters")              \
    X(awaiters_cut, "chains of awaiting tasks without their outermost tasks")

struct quality {
#define X(name, text) uint64_t name;
    QUALITY_COUNTERS(X)
#undef X
    /* Times from tick to tick. */
    uint64_t interval_count, interval_sum_ns, interval_least_ns, interval_most_ns;
    uint64_t tick_ns; /* of the last tick; 0: none, or a pause came after it */
};

/* Counts the time since the last tick; now_ns is of any clock, not 0.  A tick that reads nothing may have
 * been counted before its time, shortly before one that comes early. */
static inline void quality_note_tick(struct quality *quality, uint64_t now_ns)
{
    const bool is_first = !quality->tick_ns;
    const uint64_t interval_ns = now_ns > quality->tick_ns ? now_ns - quality->tick_ns : 0;
    quality->tick_ns += is_first ? now_ns : interval_ns;
    if (is_first)
        return;
    quality->interval_count++;
    /* A tick that comes before the time counted for the last one is no time after it. */
    if (interval_ns > 0 &&
        (!quality->interval_least_ns || interval_ns < quality->interval_least_ns))
        quality->interval_least_ns = interval_ns;
    if (interval_ns > quality->interval_most_ns)
        quality->interval_most_ns = interval_ns;
    quality->interval_sum_ns += interval_ns;
}

/* The time until the next tick does not count. */
static inline void quality_note_pause(struct quality *quality)
{
    quality->tick_ns = 0;
}

/* Threads that could not be read, for whatever reason. */
uint64_t quality_failed(const struct quality *quality);
/* 0 of nothing is 0. */
double quality_percent(uint64_t part, uint64_t whole);

#endif /* SAMPLER_PROFILE_QUALITY_H */
