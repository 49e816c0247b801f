/*
 * core - a core file, for a session that reads it in place of a process.
 *
 *     session_core_open     reads what the core says of its process
 *     session_core_facts    its number is a pid of struct session_options
 *     session_core_warning  what could not be read; after the session
 *     session_core_close    after the session
 *
 * Ownership: session_core_open makes, session_core_close frees; NULL is fine.
 * Threads: one at a time.
 */
#ifndef SAMPLER_CORE_H
#define SAMPLER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct session_core;

enum { SESSION_CORE_WARNING_BYTES = 512 };

struct session_core_facts {
    const char *file;    /* its path, as it was given */
    int number;          /* in place of a pid, below 0 */
    int32_t pid;         /* of the process, while it ran */
    const char *command; /* its command line, at most 80 bytes of it; text of the process */
    int32_t tid;         /* of the thread that ran into the signal */
    bool was_killed; /* by the signal; false: a debugger wrote the core while the process ran */
    int32_t signal;  /* that the process was killed or stopped by; 0: none */
    const char *signal_name; /* "SIGSEGV"; NULL: none */
    bool is_own;             /* the thread ran into the signal, or its process sent it */
    bool has_addr;           /* a fault of memory or of an instruction, at `addr` */
    uint64_t addr;
    int32_t sender; /* the process that sent the signal; 0: none, or unknown */
};

/* executable NULL: the program and its libraries are found by their paths.  ERR_INVALID, ERR_CORRUPT, ERR_LIMIT: the core cannot
 * be read; ERR_NOT_FOUND, ERR_PERM: the file cannot be opened. */
MUST_CHECK enum err_code session_core_open(const char *path, const char *executable,
                                           struct session_core **out, struct err *err);
void session_core_close(struct session_core *core);
const struct session_core_facts *session_core_facts(const struct session_core *core);
/* A sentence about a part of the process that is missing; false: there are no more than `index`. */
bool session_core_warning(const struct session_core *core, size_t index,
                          char out[SESSION_CORE_WARNING_BYTES]);

#endif /* SAMPLER_CORE_H */
