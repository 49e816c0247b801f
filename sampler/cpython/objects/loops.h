/*
 * loops - whether an instruction is in a loop, and whether the loop gets there what it works on.
 *
 * The head of a worker's loop is a call that gets the next job: `while True: work(self.take())`.  Such a call
 * is recognised by three facts, since whoever asks another thread for an answer has a question:
 *     nothing was stored since the round began, and the round is not one of a `for`
 *     its arguments are constants, and variables and attributes that the loop does not set
 *     its result is used
 *
 * The bytes are untrusted: where they contradict themselves, the instruction is in no loop.
 *
 * Limits: LOOPS_MAX_UNITS of code; in a longer function there are none.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_LOOPS_H
#define SAMPLER_CPYTHON_OBJECTS_LOOPS_H

#include <stdint.h>

#include "sampler/cpython/objects/bytecode.h"

enum { LOOPS_MAX_UNITS = 1 << 13 };

enum loop_place {
    LOOP_UNKNOWN, /* not asked, or the code cannot be understood */
    LOOP_NONE,    /* in no loop */
    LOOP_INSIDE,
    LOOP_HEAD, /* a call that gets what the outermost loop works on */
};

/* unit: of an instruction, or of a cache behind it. */
enum loop_place loops_find(const struct bytecode *code, uint32_t unit);

#endif /* SAMPLER_CPYTHON_OBJECTS_LOOPS_H */
