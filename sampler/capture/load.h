/*
 * load - a window of a capture, and how it becomes one of a profile.
 */
#ifndef SAMPLER_CAPTURE_LOAD_H
#define SAMPLER_CAPTURE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/quality.h"
#include "sampler/profile/run.h"

struct memory_log;
struct profile;

struct capture_window {
    uint64_t start_ns, end_ns;
    uint64_t period_ns; /* what a sample stands for; 0: unknown */
    bool is_open;       /* it continues in the next one */
    enum measure measure;
    struct quality quality;
    const struct run *runs; /* by thread, then time */
    size_t run_count;
};

/* Adds the steps of memory that start from from_ns to before to_ns; to_ns 0: no end.  The profile has their rows. */
MUST_CHECK enum err_code load_memory(struct profile *profile, const struct memory_log *log,
                                     uint64_t from_ns, uint64_t to_ns, struct err *err);
/* The profile has the rows of the window.  last_ns: by measure; 0 at first; when the last window ended. */
MUST_CHECK enum err_code load_window(struct profile *profile,
                                     const struct capture_window *window,
                                     uint64_t last_ns[MEASURE_COUNT], struct err *err);

#endif /* SAMPLER_CAPTURE_LOAD_H */
