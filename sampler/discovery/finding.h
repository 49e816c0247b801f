/*
 * finding - what one process of the host is, found out from its files and its memory.
 *
 * A process is Python when a file mapped into it holds an interpreter.  Which file does is remembered
 * for the processes of one owner: what one user's files pretend to be decides nothing for another's.
 *
 * Ownership: the caller's storage, from finding_init or finding_make to finding_close.  known_files_create makes,
 * known_files_destroy frees.
 * Threads: known files may be shared; a call may take as long as the process and its file systems
 * like, and then only what it does itself is bounded (see cpython/runtime).
 * Limits: FILES_MAX files are known; then all are forgotten.
 * Depends on: target, cpython/runtime.
 */
#ifndef SAMPLER_DISCOVERY_FINDING_H
#define SAMPLER_DISCOVERY_FINDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/process.h"
#include "sampler/process/process_stats.h"

struct known_files;

enum { FINDING_USER_BYTES = 64, FINDING_REASON_BYTES = 320 };

struct finding {
    bool is_python;
    uint64_t again_ns;      /* when to look again, UINT64_MAX: never */
    struct process process; /* of Python: command line and executable only, otherwise closed */
    char python[LAYOUT_VERSION_TEXT], reason[FINDING_REASON_BYTES], user[FINDING_USER_BYTES];
    struct container container;
};

/* NULL: no memory. */
struct known_files *known_files_create(void);
void known_files_destroy(struct known_files *files);

/* Nothing is known yet. */
void finding_init(struct finding *finding);
/* uid: the owner of the process; known files are kept for each owner. */
void finding_make(struct finding *finding, int pid, unsigned uid, struct known_files *files,
                  const atomic_bool *is_cancelled);
void finding_close(struct finding *finding);

#endif /* SAMPLER_DISCOVERY_FINDING_H */
