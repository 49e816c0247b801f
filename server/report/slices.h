/*
 * slices - the cells of a query in the order of time, for formats that draw along it.
 *
 * Windows are joined into at most SLICES_MAX slices.  Within a slice the order of
 * samples is not known: a thread's cells are laid one after the other from its start, each as
 * long as its samples stand for, and the writer chooses the order.
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

/* More than a screen has pixels. */
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

/* What one thread did in one slice: `cells`, which may be brought into another order, and how
 * much of the time that they stand for there is room for.  view_cells_deinit the cells. */
struct slice_part {
    struct view_cells cells;
    uint64_t start_ns;
    double scale; /* at most 1 */
};

MUST_CHECK enum err_code slices_part(const struct slices *slices, size_t slice,
                                     thread_id thread, struct slice_part *out, struct err *err);

/* When the cells end that stand for so long together. */
uint64_t slice_part_at_ns(const struct slice_part *part, uint64_t ns);

struct preorder;

/* Brings the cells into the order of the tree, each node once, whatever the thread's state. */
void slice_part_by_tree(struct slice_part *part, const struct preorder *order);
/* By state, then in the order of the tree. */
void slice_part_by_state(struct slice_part *part, const struct preorder *order);

#endif /* SERVER_REPORT_SLICES_H */
