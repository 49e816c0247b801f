/*
 * kept_rows - the rows of a snapshot that a document is about: those of its cells, and what these refer to.
 *
 *     kept_rows_init
 *     kept_rows_cell ...     each cell; kept_rows_process: a process that may have none
 *     tree_write             with these rows alone
 *
 * A document that is given away holds no name of what was filtered away.
 *
 * Ownership: the caller's storage; borrows the snapshot.  kept_rows_deinit accepts a zeroed one.
 * Threads: one.
 * Cost: a byte for each row, and the rows of a cell that were not kept before.
 */
#ifndef SERVER_WIRE_KEPT_ROWS_H
#define SERVER_WIRE_KEPT_ROWS_H

#include <stdbool.h>

#include "sampler/base/err.h"
#include "sampler/profile/packages.h"
#include "sampler/profile/profile_rows.h"

struct own_code_level;

/* By id; NULL in a zeroed struct, which keeps all. */
struct kept_rows {
    const struct profile_snapshot *snapshot;
    bool *strings, *libraries, *functions, *nodes, *threads, *processes;
    bool packages[PACKAGES_MAX]; /* rows of packages.h */
};

MUST_CHECK enum err_code kept_rows_init(struct kept_rows *rows,
                                        const struct profile_snapshot *snapshot,
                                        struct err *err);
void kept_rows_deinit(struct kept_rows *rows);
/* The thread of a cell, and its stack. */
void kept_rows_cell(struct kept_rows *rows, thread_id thread, node_id node);
void kept_rows_process(struct kept_rows *rows, process_id process);

/* Takes the packages that no kept function is of out of the level. */
void kept_rows_cut_packages(const struct kept_rows *rows, struct own_code_level *level);

#endif /* SERVER_WIRE_KEPT_ROWS_H */
