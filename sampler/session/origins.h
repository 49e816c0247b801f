/*
 * origins - the processes that the functions of a session come from.  The files that a function
 * names are read with the rights of its process, or not at all.
 *
 * Each process gets a number when it joins.  The profiler gives each number once.  The upper bits
 * of the number name the owner; equal owners share one name.  The owner stored here is the one the
 * process had when it joined; what the process may read is checked at each read.
 *
 * PROFILE_ORIGIN_SEVERAL stands for a process whose owner is unknown, and for those beyond a limit.
 *
 * Ownership: the caller's storage.  The descriptors are those of the process, which must stay open until
 * origins_end; origins_keep takes them over, until origins_end or origins_deinit.
 * Threads: one adds and ends, any thread finds.
 * Limits: SESSION_MAX_PROCESSES at a time, ORIGINS_MAX_OWNERS owners in all.
 */
#ifndef SAMPLER_SESSION_ORIGINS_H
#define SAMPLER_SESSION_ORIGINS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/owner.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"

struct process;

enum { ORIGINS_MAX_OWNERS = 1024 };

struct origins {
    pthread_mutex_t mutex;
    struct owner **owners; /* each once */
    size_t owner_count;
    struct origins_process {
        profile_origin number;
        struct session_origin origin; /* without the owner */
        bool is_kept;                 /* its descriptors belong to the table */
    } processes[SESSION_MAX_PROCESSES];
    size_t count;
};

void origins_init(struct origins *origins);
void origins_deinit(struct origins *origins);

/* mapped_addr: of process_fate.  Never fails. */
profile_origin origins_add(struct origins *origins, struct process *process,
                           uint64_t mapped_addr);
/* The process has ended or executes another program. */
void origins_end(struct origins *origins, profile_origin number);
/* The session is over, and the process may go on: takes its descriptors. */
void origins_keep(struct origins *origins, profile_origin number, struct process *process);

/* The origin of a function of origin `before` that has now been sampled in process `now`. */
profile_origin origins_join(struct origins *origins, profile_origin before, profile_origin now);

/* The function has been sampled in a process of this origin; several processes may share it.  origins NULL: functions have
 * none. */
void origins_note(struct origins *origins, struct profile *profile, function_id function,
                  profile_origin origin);

/* See session_origin. */
MUST_CHECK enum err_code origins_find(struct origins *origins, profile_origin number,
                                      struct session_origin *out, struct err *err);

#endif /* SAMPLER_SESSION_ORIGINS_H */
