/*
 * timed - a query's cells with the time they are of, as finely as there is room for.
 *
 * Time is cut as timeline cuts it.  The more slots, the more cells: of the numbers of slots tried
 * the largest is taken with which at most TIMED_SPARE_CELLS and one cell for each node come out;
 * where even two slots are too many, cells carry no time.
 *
 * Ownership: the struct owns its arrays; timed_deinit accepts a zeroed one.
 * Cost: some passes over the cells of the query.
 * Depends on: profile, view, timeline.
 */
#ifndef SERVER_REPORT_TIMED_H
#define SERVER_REPORT_TIMED_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/profile/views/timeline.h"
#include "sampler/profile/views/view.h"

struct report_source;

enum { TIMED_SPARE_CELLS = 6144, TIMED_MAX_SLOTS = 256 };

struct timed {
    struct timeline_slots slots; /* count 0: cells carry no time */
    size_t part_count;           /* slots.count, or 1 */
    struct view_cells parts[TIMED_MAX_SLOTS];
};

MUST_CHECK enum err_code timed_init(struct timed *timed, const struct report_source *source,
                                    struct err *err);
/* The cells of the query without their times. */
MUST_CHECK enum err_code timed_init_whole(struct timed *timed,
                                          const struct report_source *source, struct err *err);
void timed_deinit(struct timed *timed);

#endif /* SERVER_REPORT_TIMED_H */
