/*
 * kin - the processes that a scout follows, each told from a later one with its number.
 *
 * Ownership: the caller's storage; child_table_deinit accepts a zeroed one.
 * Limits: given at init.
 * Depends on: err, target/procfs.
 */
#ifndef SAMPLER_SESSION_CHILD_TABLE_H
#define SAMPLER_SESSION_CHILD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/procfs.h"

struct child {
    int pid;
    struct procfs_identity identity;
    bool is_member;    /* the sampling thread has it, or is about to */
    bool is_counted;   /* as over or denied */
    uint64_t since_ns; /* the program in it was first seen */
    uint64_t try_ns;   /* when to look for an interpreter in it */
};

struct child_table {
    struct child *items;
    size_t count, room, most;
};

void child_table_init(struct child_table *table, size_t most);
void child_table_deinit(struct child_table *table);
/* NULL: none of that number.  Rows move when others are added or dropped. */
struct child *child_table_find(const struct child_table *table, int pid);
/* ERR_LIMIT: there are as many as there may be. */
MUST_CHECK enum err_code child_table_add(struct child_table *table, const struct child *child);
void child_table_drop(struct child_table *table, struct child *child);

#endif /* SAMPLER_SESSION_CHILD_TABLE_H */
