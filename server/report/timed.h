/*
 * timed - the cells of a query with their time, as fine as there is room for.
 *
 * Time is divided into the slots of timeline.  More slots make more cells: the largest number of slots
 * is used that makes at most TIMED_SPARE_CELLS plus one cell for each node.  If even two slots are too
 * many, cells have no time.
 *
 * Ownership: the struct owns its arrays; timed_deinit accepts a zeroed one.
 * Cost: some passes over the cells of the query.
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
