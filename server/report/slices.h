/*
 * slices - the cells of a query in the order of time, for formats with a time axis.
 *
 * Windows are joined into at most SLICES_MAX slices.  The order of samples within a
 * slice is unknown: the cells of a thread are placed one after the other from the start of the slice,
 * each as long as its samples stand for.  The writer chooses their order.
 *
 * Ownership: the struct owns its arrays and borrows the rest; slices_deinit accepts a zeroed
 * one.
 * Units: nanoseconds since the session began.
 * Depends on: profile, view.
 */
#ifndef SERVER_REPORT_SLICES_H
#define SERVER_REPORT_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"

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
};

MUST_CHECK enum err_code slices_init(struct slices *slices, const struct report_source *source,
                                     struct err *err);
void slices_deinit(struct slices *slices);

/* One thread in one slice: its cells, which the caller may sort and must view_cells_deinit, and the
 * factor that makes their time fit into the slice. */
struct slice_part {
    struct view_cells cells;
    uint64_t start_ns;
    double scale; /* at most 1 */
};

MUST_CHECK enum err_code slices_part(const struct slices *slices, size_t slice,
                                     thread_id thread, struct slice_part *out, struct err *err);

/* The time at which the first cells end, if they stand for `ns` together. */
uint64_t slice_part_at_ns(const struct slice_part *part, uint64_t ns);

struct preorder;

/* Sorts the cells in the order of the tree, and merges those of a node whatever the thread's state. */
void slice_part_by_tree(struct slice_part *part, const struct preorder *order);
/* Sorts the cells by state, then in the order of the tree. */
void slice_part_by_state(struct slice_part *part, const struct preorder *order);

#endif /* SERVER_REPORT_SLICES_H */
