/*
 * shared_locks - the locks that several processes of a dump share: who of one process holds what another one waits for, and deadlocks of
 * several processes.
 *
 * A lock is the same one in two processes if the kernel says that it lies at the same place of one file (lock_use.place).  Processes are
 * read one after the other, and their texts are written before all are read.  Where a text depends on other processes it has a gap: some
 * bytes that neither plain text nor JSON has, which are replaced when all are read.
 *
 * Processes are not read at one instant.  Threads make a deadlock only if they have begun no other wait until all were read, as the
 * kernel counts waits.  Tasks, and threads that were stopped to be read, make none: these counts prove nothing of them.
 *
 * Ownership: the caller's storage; shared_locks_deinit accepts a zeroed one.
 * Threads: one at a time.
 * Limits: SHARED_LOCKS_MAX_GAPS locks that have gaps, SHARED_LOCKS_MAX_BYTES of texts; what is beyond them is unknown.
 */
#ifndef SERVER_SESSIONS_SHARED_LOCKS_H
#define SERVER_SESSIONS_SHARED_LOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "server/sessions/lock_graph.h"

struct buffer;
struct dump;

enum { SHARED_LOCKS_MAX_GAPS = 4096, SHARED_LOCKS_MAX_BYTES = 64 << 20, SHARED_GAP_BYTES = 32 };

struct shared_locks {
    struct strtab strings;
    struct lock_graph
        graph; /* texts are of `strings`; a thread has its name in lock_thread.task */
    struct lock_use *waits; /* of the gaps, one for each lock */
    size_t wait_count, wait_room;
    struct shared_deadlock {
        const struct lock_thread *threads[LOCK_GRAPH_MAX_CYCLE];
        size_t count;
    } * deadlocks;
    size_t deadlock_count, deadlock_room;
};

MUST_CHECK enum err_code shared_locks_init(struct shared_locks *shared, struct err *err);
void shared_locks_deinit(struct shared_locks *shared);

/* Adds the process of a dump that is about to be written, and sets dump->shared. */
MUST_CHECK enum err_code shared_locks_add(struct shared_locks *shared, struct dump *dump,
                                          struct err *err);
/* Finds the deadlocks; after the last process. */
MUST_CHECK enum err_code shared_locks_solve(struct shared_locks *shared, struct err *err);

/* The gap for the holder of what is waited for: ", held by process 4711 …" or as JSON; false: its process alone says who that is. */
bool shared_locks_holder_gap(struct shared_locks *shared, const struct lock_use *wait,
                             bool is_json, char out[SHARED_GAP_BYTES]);
/* The gap for the deadlocks in which the process is, as JSON. */
void shared_locks_deadlocks_gap(pid_t pid, char out[SHARED_GAP_BYTES]);
bool shared_locks_has_gap(const char *text, size_t bytes);
/* Writes the text with its gaps filled. */
MUST_CHECK enum err_code shared_locks_fill(const struct shared_locks *shared, const char *text,
                                           size_t bytes, struct buffer *out, struct err *err);
/* Writes a line for each deadlock. */
void shared_locks_put_deadlocks(const struct shared_locks *shared, struct buffer *out);

#endif /* SERVER_SESSIONS_SHARED_LOCKS_H */
