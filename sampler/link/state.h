/*
 * state - what a live session is, beyond the samples in its capture: its status, counters, processes, asyncio tasks,
 * locks, variables, and where its functions come from.
 *
 * A record follows each window.  It holds status and counters as a whole, and of everything else what has changed
 * since the record before; variables are in the last one alone.
 *
 * Ownership: the caller's storage; state_decode allocates, state_deinit frees and accepts a zeroed one.  Decoded
 * texts point into the block.
 * Threads: one at a time.
 * Limits: STATE_MAX_ORIGINS functions in a record, the others are in later ones; SESSION_MAX_LISTED processes;
 * SESSION_MAX_TASKS; SESSION_MAX_LOCK_THREADS, SESSION_MAX_LOCKS; SESSION_MAX_LOCALS_THREADS, SESSION_MAX_LOCALS_BYTES.  Tasks, locks or variables that refer to rows which are not written yet are left
 * out of a record.
 */
#ifndef SAMPLER_LINK_STATE_H
#define SAMPLER_LINK_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/profile/quality.h"
#include "sampler/session.h"

struct buffer;
struct byte_reader;
struct live_capture_seal;

enum {
    STATE_MAX_ORIGINS = 1 << 16,
    STATE_MAX_AWAITERS = 1 << 20,
    STATE_MAX_LOCK_USES = 1 << 17
};

/* The contents of the records so far. */
struct state_writer {
    unsigned
        said[SESSION_MAX_LISTED]; /* of each process: that it is there, its end, its warnings */
    struct state_origin *functions; /* by function */
    size_t function_count, function_room;
    uint64_t tasks_at_ns, locks_read_ns;
};

struct state_origin {
    uint32_t function;
    profile_origin origin;
    uint64_t entry;
};

/* A process that is new, has ended or has another warning. */
struct state_target {
    size_t index;
    const char *record; /* target_record.h */
};

struct state {
    struct session_status status;
    uint64_t end_ns; /* of the window */
    uint64_t lost;   /* samples so far */
    struct quality quality;
    struct session_processes processes;
    struct state_target *targets;
    size_t target_count;
    struct state_origin *origins;
    size_t origin_count;
    bool has_tasks;
    struct session_tasks tasks;
    bool has_locks;
    struct session_locks locks;
    bool has_locals;
    struct session_locals locals;
};

void state_writer_deinit(struct state_writer *writer);
/* Appends a record. */
void state_encode(struct state_writer *writer, struct session *session,
                  const struct live_capture_seal *seal, struct buffer *out);

/* rows: those that came before.  ERR_CORRUPT: it refers to others, or is invalid. */
MUST_CHECK enum err_code state_decode(struct byte_reader *in, const struct profile_sizes *rows,
                                      struct state *out, struct err *err);
void state_deinit(struct state *state);

#endif /* SAMPLER_LINK_STATE_H */
