/*
 * evidence - what speaks for an interpreter where one seems to be: its stacks lead from code object
 * to code object, and it keeps its modules in a dictionary.
 *
 * A light unwind that is nobody's sample: of some threads, some frames, by single reads.  A program
 * that runs meanwhile may spoil a look, so there are a few.
 *
 * Threads: any; nothing is interned.
 * Limits: EVIDENCE_MAX_INTERPRETERS, EVIDENCE_MAX_THREADS of each, EVIDENCE_MAX_FRAMES of each.
 * Depends on: memory, layout, object.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H
#define SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H

#include <stdbool.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum { EVIDENCE_MAX_INTERPRETERS = 16, EVIDENCE_MAX_THREADS = 16, EVIDENCE_MAX_FRAMES = 64 };

struct evidence {
    unsigned frames;  /* that name a code object */
    bool has_modules; /* what is imported lies in a dict */
};

/* Of the interpreter and those behind it in the list: the first that runs something. */
struct evidence evidence_gather(struct memory *memory, const struct layout *layout,
                                remote_addr interp);

#endif /* SAMPLER_CPYTHON_RUNTIME_EVIDENCE_H */
