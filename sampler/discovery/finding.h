/*
 * finding - examines one process of the host: its files and its memory.
 *
 * A process is Python when a file mapped into it holds an interpreter.  Which files do is remembered
 * separately for each owner, so that the files of one user cannot change what is found about the
 * processes of another.
 *
 * Ownership: the caller's storage, from finding_init or finding_make to finding_close.  known_files_create makes,
 * known_files_destroy frees.
 * Threads: known files may be shared.  The time of a call is bounded (see cpython/runtime), except for the
 * system calls that the process or its file systems delay.
 * Limits: FILES_MAX known files; then all are forgotten.
 */
#ifndef SAMPLER_DISCOVERY_FINDING_H
#define SAMPLER_DISCOVERY_FINDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/permission.h"
#include "sampler/process/process.h"
#include "sampler/process/process_stats.h"

struct known_files;

enum { FINDING_USER_BYTES = 64, FINDING_REASON_BYTES = 320 };

struct finding {
    bool is_python;
    bool is_permitted; /* if it is Python: it may be listed (permission.h) */
    struct permission_users users;
    uint64_t again_ns;      /* when to examine the process again; UINT64_MAX: never */
    struct process process; /* of Python: command line and executable only, otherwise closed */
    char python[LAYOUT_VERSION_TEXT], reason[FINDING_REASON_BYTES], user[FINDING_USER_BYTES];
    struct container container;
};

/* NULL: memory ran out. */
struct known_files *known_files_create(void);
void known_files_destroy(struct known_files *files);

/* An empty finding. */
void finding_init(struct finding *finding);
/* uid: the owner of the process; known files are kept for each owner. */
void finding_make(struct finding *finding, int pid, unsigned uid, struct known_files *files,
                  const atomic_bool *is_cancelled);
void finding_close(struct finding *finding);
/* Does the process have the users still with which it was permitted? */
bool finding_holds(const struct finding *finding, int pid);

#endif /* SAMPLER_DISCOVERY_FINDING_H */
