/*
 * target_table - the processes that have been part of a session, for readers, while processes come
 * and go.
 *
 * Ownership: the caller's storage; owns its texts until target_table_deinit.
 * Threads: one writer adds and ends, any thread reads.
 * Limits: lists the first SESSION_MAX_LISTED processes and counts the others.
 */
#ifndef SAMPLER_SESSION_TARGET_TABLE_H
#define SAMPLER_SESSION_TARGET_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/session.h"

struct process;

struct target_table {
    pthread_mutex_t mutex;
    struct target_record items[SESSION_MAX_LISTED]; /* owns their warnings */
    size_t count;
    struct session_processes counts;
};

/* Facts that `struct process` does not hold. */
struct target_table_info {
    const char *python; /* copied */
    bool validated;
    int parent;
    uint64_t from_ns;
};

void target_table_init(struct target_table *target_table);
void target_table_deinit(struct target_table *target_table);

/* *row_out is for target_table_end. */
MUST_CHECK enum err_code target_table_add(struct target_table *target_table,
                                          const struct process *process,
                                          const struct target_table_info *info, size_t *row_out,
                                          struct err *err);
/* `reason` is a text with static storage. */
void target_table_end(struct target_table *target_table, size_t row, uint64_t to_ns,
                      const char *reason);
/* Copies the text, unless the target has such a warning or is not listed.  false: out of memory. */
bool target_table_warn(struct target_table *target_table, size_t row,
                       enum session_warning warning, const char *text);
/* Adds to the counts of processes that are not targets; the others of `more` are ignored. */
void target_table_left_out(struct target_table *target_table,
                           const struct session_processes *more);

/* false: fewer than index + 1 are listed. */
bool target_table_at(const struct target_table *target_table, size_t index,
                     struct session_target *out);
void target_table_counts(const struct target_table *target_table,
                         struct session_processes *out);

#endif /* SAMPLER_SESSION_TARGET_TABLE_H */
