/*
 * roster - who has been part of a session: told to readers while processes come and go.
 *
 * Ownership: the caller's storage; the roster owns its texts until roster_deinit.
 * Threads: one writer adds and ends, any thread asks.
 * Limits: the first SAMPLER_MAX_TOLD processes are told, the others are counted.
 * Depends on: sampler.h, target/process.
 */
#ifndef SAMPLER_SESSION_TARGET_TABLE_H
#define SAMPLER_SESSION_TARGET_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/sampler.h"

struct process;

struct roster {
    pthread_mutex_t mutex;
    struct sampler_target items[SAMPLER_MAX_TOLD];
    size_t count;
    struct sampler_processes counts;
};

/* What is to be kept of a process beside what the kernel says of it. */
struct roster_facts {
    const char *python; /* copied */
    bool validated;
    int parent;
    uint64_t from_ns;
};

void roster_init(struct roster *roster);
void roster_deinit(struct roster *roster);

/* Takes the process's command line over.  *place_out is for roster_end. */
MUST_CHECK enum err_code roster_add(struct roster *roster, struct process *process,
                                    const struct roster_facts *facts, size_t *place_out,
                                    struct err *err);
/* The reason is a text that stays. */
void roster_end(struct roster *roster, size_t place, uint64_t to_ns, const char *reason);
/* Counts that others keep. */
void roster_left_out(struct roster *roster, uint64_t over, uint64_t denied);

/* false: fewer than index + 1 are told. */
bool roster_at(struct roster *roster, size_t index, struct sampler_target *out);
void roster_counts(struct roster *roster, struct sampler_processes *out);

#endif /* SAMPLER_SESSION_TARGET_TABLE_H */
