/*
 * tables - all tables of a profile, and which rows of each count as equal.  Equal rows have the same id; ids are dense
 * from 0.
 *
 * Private to profile.
 *
 * Ownership: the caller's storage holds the struct; tables_deinit accepts a zeroed one, and one
 * whose init failed.
 * Limits: of a table max_rows, given at init; then ERR_LIMIT, and rows already there are still found.
 * Threads: one writer; readers may read rows below a count published to them (see pool.h).
 */
#ifndef SAMPLER_PROFILE_TABLES_H
#define SAMPLER_PROFILE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/profile/profile_rows.h"

/* A function, because padding bytes of equal rows may differ. */
typedef bool table_same(const void *row, const void *other);

struct table {
    struct pool rows;
    struct idmap index;
    table_same *same;
};

void table_init(struct table *table, size_t row_bytes, uint32_t max_rows, table_same *same);
void table_deinit(struct table *table);

/* Equal rows must come with equal hashes. */
MUST_CHECK enum err_code table_intern(struct table *table, uint32_t hash, const void *row,
                                      uint32_t *id_out, struct err *err);

static inline uint32_t table_count(const struct table *table)
{
    return table->rows.count;
}

static inline const void *table_at(const struct table *table, uint32_t id)
{
    return pool_at(&table->rows, id);
}

/* From now on new rows are ERR_LIMIT. */
void table_close(struct table *table);

/* Bytes held, rows and index together. */
size_t table_bytes(const struct table *table);

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
