/*
 * window - a slice of time and the cells counted in it.
 *
 * A sealed window is immutable and shared by reference count.  Its cells are sorted by thread,
 * then state, then node, each combination once; those of spots by node, then spot.
 *
 * Cells have no order in time.  Runs have it: they are the same samples once more, each thread's in the
 * order of time.  A window is without them if it is unknown when some of its samples were taken, or once
 * memory is short.
 *
 * Every sample of a window stands for period_ns, unless windows of different periods were merged
 * into it: then each cell has its own time.  What is a time here is, of another measure than time, a value in the unit
 * of that measure (measure.h).
 *
 * Ownership: shared by reference; the last window_unref frees.
 * Threads: window_ref and window_unref may be called from any thread.
 * Units: nanoseconds since the profile was created.
 */
#ifndef SAMPLER_PROFILE_WINDOW_H
#define SAMPLER_PROFILE_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/cell_key.h"
#include "sampler/profile/profile_rows.h"

struct cell {
    thread_id thread;
    node_id node;
    uint32_t count;
    state_bits state;
};

struct spot_cell {
    node_id node;
    spot_id spot;
    uint32_t count;
};

/* Samples of one cell, step_us apart. */
struct window_run {
    uint64_t key; /* cell_key */
    uint64_t first_ns;
    uint32_t count;
    uint32_t step_us;
};

struct window {
    atomic_uint references;
    uint32_t generation;       /* that its sealing made; merged: of the last part */
    uint32_t first_generation; /* merged: of the first part */
    uint32_t parts;            /* sealed windows in it */
    uint64_t start_ns, end_ns;
    uint64_t width_ns;          /* of the step that it was merged into; 0: as sealed */
    uint64_t samples;           /* sum of its cells */
    uint64_t period_ns;         /* what a sample stands for; 0: unknown, or see cell_ns */
    uint64_t *cell_ns;          /* of each cell; NULL: its count times period_ns */
    struct profile_sizes sizes; /* of the tables when it, or its last part, was sealed */
    size_t spot_count;
    struct spot_cell *spots; /* NULL: none */
    size_t run_count;
    struct window_run *runs; /* NULL: when the samples were taken is not known */
    size_t cell_count;
    struct cell cells[];
};

/* One reference, room for cell_count cells. */
MUST_CHECK enum err_code window_create(size_t cell_count, struct window **out, struct err *err);
/* Makes room for spot cells; there are none at first. */
MUST_CHECK enum err_code window_reserve_spots(struct window *window, size_t spot_count,
                                              struct err *err);
struct window *window_ref(struct window *window);
void window_unref(struct window *window);
/* Sorts the cells. */
void window_sort(struct window *window);
/* A copy without runs, for when memory is short. */
MUST_CHECK enum err_code window_without_runs(const struct window *window, struct window **out,
                                             struct err *err);
/* Merges `count` > 0 consecutive windows, of at most UINT32_MAX samples together, into a new one. */
MUST_CHECK enum err_code window_merge(struct window *const *windows, size_t count,
                                      struct window **out, struct err *err);
/* The time that the samples of a cell stand for. */
static inline uint64_t window_cell_ns(const struct window *window, size_t cell)
{
    return window->cell_ns ? window->cell_ns[cell]
                           : window->cells[cell].count * window->period_ns;
}
/* The sum of what its samples stand for. */
uint64_t window_sum(const struct window *window);
/* The cell that the samples of a run are counted in, with these alone. */
static inline struct cell window_run_cell(const struct window_run *run)
{
    return (struct cell){ .thread = cell_key_thread(run->key),
                          .node = cell_key_node(run->key),
                          .count = run->count,
                          .state = cell_key_state(run->key) };
}
/* The time that the samples of a run stand for: its part of that of their cell. */
uint64_t window_run_ns(const struct window *window, const struct window_run *run);
/* Is it known when all of its samples were taken? */
static inline bool window_is_ordered(const struct window *window)
{
    return window->runs || window->samples == 0;
}
static inline size_t window_run_bytes(const struct window *window)
{
    return window->run_count * sizeof *window->runs;
}
size_t window_bytes(const struct window *window);

#endif /* SAMPLER_PROFILE_WINDOW_H */
