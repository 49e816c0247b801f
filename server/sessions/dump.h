/*
 * dump - the current stacks of all threads of a process.
 *
 * The process is sampled for a moment, and of each thread the last sample is kept.
 *
 * Ownership: dump_take fills, dump_deinit frees; it accepts a zeroed one.
 * Threads: one at a time.
 * Limits: the first DUMP_MAX_THREADS threads of the profile.
 */
#ifndef SERVER_SESSIONS_DUMP_H
#define SERVER_SESSIONS_DUMP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/core.h"
#include "sampler/profile/profile.h"
#include "sampler/profile/state.h"
#include "sampler/session.h"
#include "server/sessions/lock_graph.h"

enum {
    DUMP_MAX_THREADS = 8192,
    DUMP_MAX_LAST_USES = 64,
    DUMP_LAST_USE_FRAMES = 64,      /* innermost ones of a stack that are searched */
    DUMP_LAST_USE_BYTES = 256 << 20 /* of source text, for all locks */
};

/* The place where a lock without a known holder was last seen used: a call of acquire() in the source of a stack, above the line that it has come
 * to.  It is found by the expression of the wait, in functions of the same file: an attribute (`self.lock`), or a variable of the
 * module.  Another object of that name is taken for it, so a last use does not say who has the lock. */
struct dump_last_use {
    uint64_t lock;
    str_id function, file; /* file 0: no use was found */
    int32_t line;
};

struct dump_row {
    thread_id thread;
    node_id node; /* innermost frame; 0: no frames */
    state_bits state;
    spot_id spot;      /* the innermost instruction, if requested; PROFILE_NO_SPOT: unknown */
    bool lacks_native; /* native frames were wanted, and the thread did not stop in time */
    size_t order;      /* among the samples */
    size_t locals;     /* of the dump's, plus 1; 0: its variables are unknown */
};

struct expressions;
struct shared_locks;

struct dump {
    struct session *session;
    const struct session_core
        *core; /* that it was read from; NULL: a process, until the caller sets it */
    struct profile_snapshot snapshot; /* ids of the rows refer to it */
    bool has_snapshot;
    uint64_t at_ns; /* since 1970 */
    uint64_t samples;
    struct dump_row *rows;      /* the main thread first, then by tid */
    size_t count, left_out;     /* threads that were not seen */
    struct session_tasks tasks; /* asyncio tasks, if requested */
    struct lock_graph locks;
    struct session_locals locals;    /* the threads by tid */
    struct expressions *expressions; /* of the locks; read when the dump was taken */
    struct dump_last_use last_uses[DUMP_MAX_LAST_USES]; /* of locks without a known holder */
    size_t last_use_count;
    struct shared_locks
        *shared; /* of all processes that are dumped; NULL: it is the only one */
};

struct dump_request {
    enum session_async async;
    bool
        shows_tasks; /* stacks of threads begin with the tasks they run; false: with the event loop */
    enum session_native native;
    bool instructions; /* what each frame executes */
    enum session_locals_mode locals;
    enum session_stop stop;
};

struct process_facts;

/* ERR_NOT_PYTHON: what its memory says is of its parent (process_tree.h). */
MUST_CHECK enum err_code dump_check_memory(pid_t pid, const struct process_facts *facts,
                                           struct err *err);
/* pid: or the number of a core (sampler/core.h).  Errors as of session_start.  stop ALWAYS: a process whose threads cannot be stopped is read
 * as it is.  is_ending: if it becomes true, dump_take returns early; may be NULL. */
MUST_CHECK enum err_code dump_take(struct dump *dump, pid_t pid,
                                   const struct dump_request *request,
                                   const atomic_bool *is_ending, struct err *err);
void dump_deinit(struct dump *dump);
/* The number of the process, also of one that a core is of. */
pid_t dump_pid(const struct dump *dump);
/* The task at this address; NULL: it is not among the tasks. */
const struct session_task *dump_find_task(const struct dump *dump, uint64_t address);

/* Does the thread wait for a lock that one alone can hold, and nobody knows who does?  Not so semaphores and queues. */
bool dump_lacks_holder(const struct dump *dump, const struct lock_thread *thread);
/* NULL: no use of the lock is known. */
const struct dump_last_use *dump_find_last_use(const struct dump *dump,
                                               const struct lock_use *wait);

enum { DUMP_WARNING_BYTES = SESSION_CORE_WARNING_BYTES };
/* A sentence about a part of the process that its core lacks; false: there are no more than `index`. */
bool dump_warning(const struct dump *dump, size_t index, char out[DUMP_WARNING_BYTES]);

#endif /* SERVER_SESSIONS_DUMP_H */
