/*
 * locks - the lock that a thread waits for, and those that it holds.
 *
 * The thread must stand still.  A wait is found in its innermost frames: a function of the standard library that waits has the object
 * as its first variable, and a C function that takes a lock has it as what it was called with.  A held lock is found by the `with`
 * blocks of its frames: the exit function of each lies on the value stack, at a depth that the exception table of the code has.  Some
 * objects also say who has them: recursive locks, module locks, threads.  A lock that was taken by a call of acquire() alone is not
 * found.
 *
 * Until 3.10 a frame has its blocks itself, and says nothing of its value stack above them: a lock that is waited for is searched in
 * the first values there.
 *
 * The frames of the last reading of a thread that moves count if they are still there after the locks were read, in the same `with`
 * blocks as before.
 *
 * Everything read is untrusted.
 *
 * Limits: LOCK_USES_MAX uses of a thread, LOCKS_MAX_FRAMES innermost frames of it; LOCKS_MAX_MOVING_FRAMES of one that moves.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_LOCKS_H
#define SAMPLER_CPYTHON_LOCKS_LOCKS_H

#include "sampler/base/err.h"
#include "sampler/base/lock_use.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/threads/threads.h"

enum {
    LOCKS_MAX_FRAMES = 256,
    LOCKS_MAX_MOVING_FRAMES = 64,
    LOCKS_MAX_BLOCKS = 20,
    LOCKS_PLACES = 1024
};

/* The `with` blocks that are active at an instruction. */
struct locks_place {
    code_id code;
    uint32_t unit;
    bool is_known;
    uint32_t depths[LOCKS_MAX_BLOCKS]; /* of the value stack, the innermost block first */
    size_t count;
};

struct locks {
    struct code_table *codes;
    struct strtab *strings;
    const struct thread_list *threads;
    const struct leaves *leaves;
    struct code_bytecode room;
    size_t budget;              /* bytes of code that may still be read for this thread */
    struct locks_place *places; /* LOCKS_PLACES of them, by a hash; NULL: not needed yet */
    uint64_t clears;            /* of the code table, when they were found */
};

void locks_init(struct locks *locks, struct code_table *codes, struct strtab *strings,
                const struct thread_list *threads, const struct leaves *leaves);
void locks_deinit(struct locks *locks);

/* Fills `uses` (LOCK_USES_MAX), the wait first, which a running thread does not have.  Returns ERR_NOMEM or ERR_OK; locks that
 * cannot be read are left out. */
MUST_CHECK enum err_code locks_read(struct locks *locks, const struct thread *thread,
                                    enum three_valued runs, struct lock_use *uses,
                                    size_t *count_out);

/* Reads what a thread that moves holds. */
MUST_CHECK enum err_code locks_read_moving(struct locks *locks, const struct thread *thread,
                                           struct lock_use *uses, size_t *count_out);

#endif /* SAMPLER_CPYTHON_LOCKS_LOCKS_H */
