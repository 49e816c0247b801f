/*
 * evidence - checks that an address is a real interpreter: its frames name code objects, and its
 * modules are in a dictionary.
 *
 * It reads some frames of some threads, one read at a time.  A program that runs meanwhile may
 * invalidate a reading, so several are made.
 *
 * Threads: any; nothing is interned.
 * Limits: EVIDENCE_MAX_INTERPRETERS, EVIDENCE_MAX_THREADS of each, EVIDENCE_MAX_FRAMES of each.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H
#define SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H

#include <stdbool.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { EVIDENCE_MAX_INTERPRETERS = 16, EVIDENCE_MAX_THREADS = 16, EVIDENCE_MAX_FRAMES = 64 };

struct evidence {
    unsigned frames;  /* that name a code object */
    bool has_modules; /* the imported modules are in a dict */
};

/* Evidence of the first interpreter that runs code, among `interp` and those after it in the list. */
struct evidence evidence_gather(struct memory *memory, const struct layout *layout,
                                remote_addr interp);

#endif /* SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H */
