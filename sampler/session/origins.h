/*
 * origins - the processes that the functions of a session come from, so that the files they name
 * are read as the process that named them, or not at all.
 *
 * Each process gets a number when it joins, which no other process of this program ever gets; its
 * upper bits tell the owner, of whom equal ones are one.  What a process may read is found out when
 * it is read: the owner here is the one it had when it joined.
 *
 * A process whose owner is not known, or beyond a limit, is PROFILE_ORIGIN_SEVERAL.
 *
 * Ownership: the caller's storage; the descriptors are its own, and stay open until the process
 * leaves or origins_deinit.
 * Threads: one adds and ends, any asks.
 * Limits: SAMPLER_MAX_PROCESSES at a time, ORIGINS_MAX_OWNERS owners in all.
 * Depends on: owner, sampler.h, profile, target/process.
 */
#ifndef SAMPLER_SESSION_ORIGINS_H
#define SAMPLER_SESSION_ORIGINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/owner.h"
#include "sampler/profile/profile.h"
#include "sampler/sampler.h"

struct process;

enum { ORIGINS_MAX_OWNERS = 1024 };

struct origins {
    pthread_mutex_t mutex;
    struct owner **owners; /* each once */
    size_t owner_count;
    struct origins_process {
        profile_origin number;
        struct sampler_origin origin; /* without the owner */
    } processes[SAMPLER_MAX_PROCESSES];
    size_t count;
};

void origins_init(struct origins *origins);
void origins_deinit(struct origins *origins);

/* mapped_addr: of process_fate.  Never fails. */
profile_origin origins_add(struct origins *origins, struct process *process,
                           uint64_t mapped_addr);
/* The process has ended, or is another program now. */
void origins_end(struct origins *origins, profile_origin number);

/* What a function was seen in, from now on: `before`, or the process it has just been seen in. */
profile_origin origins_join(struct origins *origins, profile_origin before, profile_origin now);

/* See sampler_origin. */
MUST_CHECK enum err_code origins_find(struct origins *origins, profile_origin number,
                                      struct sampler_origin *out, struct err *err);

#endif /* SAMPLER_SESSION_ORIGINS_H */
