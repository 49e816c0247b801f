/*
 * kin - the processes that a scout follows, each told from a later one with its number.
 *
 * Ownership: the caller's storage; kin_deinit accepts a zeroed one.
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

struct kin {
    int pid;
    struct procfs_identity identity;
    bool is_member;    /* the sampling thread has it, or is about to */
    bool is_counted;   /* as over or denied */
    uint64_t since_ns; /* the program in it was first seen */
    uint64_t try_ns;   /* when to look for an interpreter in it */
};

struct kin_table {
    struct kin *items;
    size_t count, room, most;
};

void kin_init(struct kin_table *table, size_t most);
void kin_deinit(struct kin_table *table);
/* NULL: none of that number.  Rows move when others are added or dropped. */
struct kin *kin_find(const struct kin_table *table, int pid);
/* ERR_LIMIT: there are as many as there may be. */
MUST_CHECK enum err_code kin_add(struct kin_table *table, const struct kin *kin);
void kin_drop(struct kin_table *table, struct kin *kin);

#endif /* SAMPLER_SESSION_CHILD_TABLE_H */
