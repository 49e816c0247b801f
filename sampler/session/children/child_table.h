/*
 * child_table - the processes that child tracking follows, by process id.
 *
 * Start time and addresses tell a process from a later one with the same id.
 *
 * The table also recognizes an adopted child: a daemon forks twice, and by the time it is first
 * seen its parent has ended and process 1 has adopted it.  Until it executes another program, its
 * stack and its code lie at the addresses of the process it was forked from, which the kernel chose
 * at random.  Without address randomization (procfs_has_random_addresses) these addresses prove
 * nothing.
 *
 * Ownership: the caller's storage; child_table_deinit accepts a zeroed one.
 * Threads: one at a time.
 * Limits: the number of rows is given at init; the last CHILD_TABLE_MAX_ENDED processes that have
 * ended are remembered.
 */
#ifndef SAMPLER_SESSION_CHILDREN_CHILD_TABLE_H
#define SAMPLER_SESSION_CHILDREN_CHILD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/procfs.h"

enum { CHILD_TABLE_MAX_ENDED = 64 };

struct child {
    int pid;
    struct procfs_identity identity;
    bool is_target;    /* the sampling thread has it, or will take it */
    bool is_counted;   /* among those left out */
    bool is_short;     /* too many files are open for it */
    uint64_t since_ns; /* when it was first seen to execute its current program */
    uint64_t try_ns;   /* when to search it for an interpreter */
};

struct child_table {
    struct child *items;
    size_t count, room, most;
    struct procfs_identity ended[CHILD_TABLE_MAX_ENDED]; /* a ring */
    size_t ended_count;                                  /* since init */
};

void child_table_init(struct child_table *table, size_t most);
void child_table_deinit(struct child_table *table);
/* NULL: not in the table.  Rows move when others are added or dropped. */
struct child *child_table_find(const struct child_table *table, int pid);
/* ERR_LIMIT: the table is full. */
MUST_CHECK enum err_code child_table_add(struct child_table *table, const struct child *child);
/* The child has ended.  Its addresses are remembered. */
void child_table_drop(struct child_table *table, struct child *child);
/* Was this process forked from one in the table, or from one that has ended? */
bool child_table_has_parent_of(const struct child_table *table,
                               const struct procfs_identity *identity);

#endif /* SAMPLER_SESSION_CHILDREN_CHILD_TABLE_H */
