/*
 * sink - receives every sample when it is counted, in the time order of each thread, which the cells
 * of a window do not have.
 *
 * A sink is called on the sampling thread and must not wait: it stores samples for another thread, and
 * counts the samples that it has no room for.
 *
 * Threads: the profile's writer.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_SINK_H
#define SAMPLER_PROFILE_SINK_H

#include <stdint.h>

#include "sampler/profile/run.h"

struct memory_step;
struct memory_use;
struct quality;

struct sink {
    void *context;
    void (*count)(void *context, const struct run *run);
    /* The memory of processes (memory_log.h), before the seal that publishes their rows to readers; NULL: not wanted. */
    void (*memory)(void *context, const struct memory_step *step,
                   const struct memory_use *uses);
    /* Closes the windows of all runs since the last seal, at end_ns; each sample of time in it stands for
     * period_ns, each of another measure for what measure.h says. */
    void (*seal)(void *context, uint64_t end_ns, uint64_t period_ns,
                 const struct quality *quality);
};

#endif /* SAMPLER_PROFILE_SINK_H */
