/*
 * flat - samples by function or by line, and who called whom.
 *
 * A row is a function or a frame (function and line) of the profile and has its id, or is whatever a
 * map assigns frames to, such as a file.  `total` counts a row once for each stack that contains it:
 * recursion adds nothing.  The same holds for edges.
 *
 * Ownership: the struct owns its arrays; flat_deinit accepts a zeroed one.
 * Cost: proportional to the nodes, and to their logarithm for edges.
 */
#ifndef SERVER_REPORT_FLAT_H
#define SERVER_REPORT_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct preorder;
struct view_query;

enum flat_rows { FLAT_FUNCTIONS, FLAT_FRAMES };

/* The row of each frame, by frame id; frames of row 0 are not counted. */
struct flat_map {
    uint32_t row_count;
    const uint32_t *row;
    bool has_edges;               /* also count callers and callees */
    const struct preorder *order; /* of the snapshot; NULL: it is made, and freed again */
    /* Not 0: counts are nanoseconds instead of samples; a sample without a known period counts as
     * this many. */
    uint64_t unknown_ns;
};

struct flat {
    uint64_t samples; /* of the view */
    uint32_t row_count;
    uint64_t *self, *total; /* by row */
    size_t edge_count;
    struct flat_edge {
        uint32_t callee, caller; /* rows; the root is the caller of nobody */
        uint64_t count;
        uint64_t self; /* of these, samples of the callee itself */
    } * edges;         /* by callee, then caller */
};

MUST_CHECK enum err_code flat_init(struct flat *flat, const struct profile_snapshot *snapshot,
                                   const struct view_query *query, enum flat_rows rows,
                                   struct err *err);
/* Makes the rows and edges of flat_init with nanoseconds in place of samples: see flat_map. */
MUST_CHECK enum err_code flat_init_ns(struct flat *flat,
                                      const struct profile_snapshot *snapshot,
                                      const struct view_query *query, enum flat_rows rows,
                                      uint64_t unknown_ns, struct err *err);
MUST_CHECK enum err_code flat_init_mapped(struct flat *flat,
                                          const struct profile_snapshot *snapshot,
                                          const struct view_query *query,
                                          const struct flat_map *map, struct err *err);
void flat_deinit(struct flat *flat);

#endif /* SERVER_REPORT_FLAT_H */
