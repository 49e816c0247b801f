/*
 * slices - the cells of a query in the order of time, for formats with a time axis.
 *
 * Windows are joined into at most SLICES_MAX slices.  Where it is known when samples were taken (window.h),
 * and a thread's part of a slice has not too many runs, the cells of a part are these runs.  Elsewhere the
 * order of samples within a slice is unknown: the cells of a thread are placed one after the other from
 * the start of the slice, in the order that the writer chooses, each as long as its samples stand for.
 *
 * Ownership: the struct owns its arrays and borrows the rest; slices_deinit accepts a zeroed
 * one.
 * Units: nanoseconds since the session began.
 */
#ifndef SERVER_REPORT_SLICES_H
#define SERVER_REPORT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"

struct buffer;
struct report_source;

/* More than the pixels in a row of a screen. */
enum { SLICES_MAX = 4096 };

struct slices {
    const struct report_source *source;
    uint64_t period_ns;
    size_t count;
    struct slice {
        uint64_t from_ns, to_ns; /* windows that start in between; to_ns 0: no end */
        uint64_t start_ns, end_ns;
    } * items;
    thread_id *threads; /* that have samples, ascending */
    uint64_t *samples;  /* of each */
    uint64_t *ns;       /* that they stand for */
    size_t thread_count;
    size_t part_runs;           /* at most in a part */
    uint64_t unordered_samples; /* of the parts so far, those in no known order */
};

/* max_runs: about so many in all parts together; 0: no part is in the order of time. */
MUST_CHECK enum err_code slices_init(struct slices *slices, const struct report_source *source,
                                     size_t max_runs, struct err *err);
void slices_deinit(struct slices *slices);

/* The order of cells without an order in time. */
enum slices_order {
    SLICES_BY_TREE,  /* in the order of the tree, all states of a node together */
    SLICES_BY_STATE, /* by state, then in the order of the tree */
};

/* One thread in one slice. */
struct slice_part {
    struct view_cells cells;
    struct slice_time {
        uint64_t start_ns, end_ns;
    } * times; /* of each cell, ascending */
};

/* " · 12 % not in order of time" of a thread's samples, if some are; for the end of a name. */
void slices_put_note(struct buffer *out, uint64_t unordered, uint64_t samples);

struct preorder;

MUST_CHECK enum err_code slices_part(struct slices *slices, size_t slice, thread_id thread,
                                     enum slices_order by, const struct preorder *order,
                                     struct slice_part *out, struct err *err);
void slice_part_deinit(struct slice_part *part);

#endif /* SERVER_REPORT_SLICES_H */
