/*
 * flat - samples by function or by line, and who called whom.
 *
 * A row is a function or a frame (function and line) of the profile, and its id theirs; or what
 * a map makes of frames, such as a file.  `total` counts a row once for each stack it is in,
 * however often it is in it: recursion adds nothing.  The same holds for edges.
 *
 * Ownership: the struct owns its arrays; flat_deinit accepts a zeroed one.
 * Cost: proportional to the nodes, and to their logarithm for edges.
 * Depends on: profile, view, preorder.
 */
#ifndef SERVER_REPORT_FLAT_H
#define SERVER_REPORT_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/profile.h"

struct view_query;

enum flat_rows { FLAT_FUNCTIONS, FLAT_FRAMES };

/* What a frame counts as, by frame id; row 0 is for what is not to be counted. */
struct flat_map {
    uint32_t row_count;
    const uint32_t *row;
    bool has_edges; /* also count callers and callees */
    /* Not 0: nanoseconds are added up in place of samples, and where it is unknown what one stands
     * for, it is this. */
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
/* The same rows and edges with nanoseconds in place of samples: see flat_map. */
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
