/*
 * open_window - the samples since the last seal, which the next seal makes a window of.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; open_window_deinit accepts a zeroed one.
 * Threads: none; the writer's.
 * Limits: PROFILE_MAX_CELLS cells, and as many of spots; then ERR_LIMIT.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_OPEN_WINDOW_H
#define SAMPLER_PROFILE_OPEN_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/tally.h"

struct run;
struct window;

struct open_window {
    struct tally cells;
    struct tally spots; /* by spot_key */
    uint64_t start_ns;
    uint64_t period_ns;      /* what a sample stands for */
    bool is_timed;           /* samples stand for different times */
    struct window_run *runs; /* those of a thread in the order of time */
    size_t run_count, run_room;
    uint64_t run_samples; /* in them */
    uint32_t *last_runs;  /* by thread: its last run, plus 1; 0: none */
    size_t last_room;
};

void open_window_init(struct open_window *open);
void open_window_deinit(struct open_window *open);

/* Counts samples that together stand for `ns`. */
MUST_CHECK enum err_code open_window_add(struct open_window *open, thread_id thread,
                                         state_bits state, node_id node, uint32_t count,
                                         uint64_t ns, struct err *err);
MUST_CHECK enum err_code open_window_add_spot(struct open_window *open, node_id node,
                                              spot_id spot, uint32_t count, struct err *err);

/* Says when samples were taken.  Without memory for it, the window will not know it. */
void open_window_order(struct open_window *open, const struct run *run);

/* Makes a window of the samples until end_ns.  The caller sets its sizes and its generation. */
MUST_CHECK enum err_code open_window_close(const struct open_window *open, uint64_t end_ns,
                                           struct window **out, struct err *err);
/* Removes all samples; the next ones count from start_ns on. */
void open_window_clear(struct open_window *open, uint64_t start_ns);

#endif /* SAMPLER_PROFILE_OPEN_WINDOW_H */
