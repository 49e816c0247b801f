/*
 * tables - all tables of a profile, and which rows of each count as equal.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; tables_deinit accepts a zeroed one, and one
 * whose init failed.
 * Threads: one writer; readers may read rows below a count published to them (see pool.h).
 */
#ifndef SAMPLER_PROFILE_TABLES_H
#define SAMPLER_PROFILE_TABLES_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/profile_rows.h"
#include "sampler/profile/table.h"

struct tables {
    struct strtab strings;
    struct table libraries, functions, frames, nodes, threads, processes, spots;
};

MUST_CHECK enum err_code tables_init(struct tables *tables, struct err *err);
void tables_deinit(struct tables *tables);

/* From now on new libraries, functions, frames, nodes and spots are ERR_LIMIT, and new texts become
 * "<name not kept>".  New threads and processes are still added. */
void tables_close(struct tables *tables);

struct profile_sizes tables_sizes(const struct tables *tables);
/* Bytes held. */
size_t tables_bytes(const struct tables *tables);

#endif /* SAMPLER_PROFILE_TABLES_H */
