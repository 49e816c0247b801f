/*
 * sorter - sorts any number of records in bounded memory: what is more than SORTER_RECORDS goes to a temporary file, in sorted
 * and compressed runs, and comes back merged.
 *
 *     sorter_add ...     in any order
 *     sorter_next ...    in the order of their keys; equal keys in that of their other members
 *
 * Ownership: the caller's storage; sorter_deinit accepts a zeroed one, and a zeroed one is empty.
 * Threads: one.
 * Limits: SORTER_MAX_RUNS times SORTER_RECORDS records, then ERR_LIMIT.
 */
#ifndef SAMPLER_FOREIGN_SORTER_H
#define SAMPLER_FOREIGN_SORTER_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/scratch.h"

enum { SORTER_RECORDS = 1 << 19, SORTER_MAX_RUNS = 1 << 10 };

struct sorter_record {
    uint64_t keys[3];
    uint64_t value;
    uint32_t thread, node;
};

struct sorter {
    struct sorter_record *records;
    size_t count, room;
    size_t at; /* of the next one, where all are in memory */
    uint64_t added;
    struct scratch scratch;
    struct sorter_run *runs; /* those of the file */
    size_t run_count, run_room;
    uint32_t *heap; /* runs by their next record; NULL: sorter_next was not called yet */
    size_t heap_count;
};

void sorter_deinit(struct sorter *sorter);
MUST_CHECK enum err_code sorter_add(struct sorter *sorter, const struct sorter_record *record,
                                    struct err *err);
/* ERR_NOT_FOUND: there is none left.  Nothing can be added from now on. */
MUST_CHECK enum err_code sorter_next(struct sorter *sorter, struct sorter_record *out,
                                     struct err *err);

#endif /* SAMPLER_FOREIGN_SORTER_H */
