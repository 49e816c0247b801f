/*
 * lock_waits - what a thread waits for: by the methods of the standard library that its innermost frames are in, and by the C function
 * that is called there.
 *
 * Private to the folder.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_LOCK_WAITS_H
#define SAMPLER_CPYTHON_LOCKS_LOCK_WAITS_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/locks/lock_objects.h"
#include "sampler/cpython/locks/lock_state.h"

enum waiting_kind {
    WAITS_FOR_OBJECT,  /* its first variable */
    WAITS_FOR_THREAD,  /* the same, until it ends */
    WAITS_FOR_FUTURE,  /* the same, which a task may set */
    WAITS_FOR_IMPORTS, /* of other threads, for a moment */
    AWAITS_ONE,        /* its first variable is a task or a future; its second one a time */
    AWAITS_SET,        /* the same, a set of these */
    AWAITS_GROUP,      /* its first variable is a task group */
};

/* A function of the standard library that waits.  Until 3.10 code has no qualified names. */
struct waiting_function {
    const char *file; /* its end */
    const char *class, *name;
    const char *module;
    enum waiting_kind kind;
};

/* NULL: the frame is of none of them. */
const struct waiting_function *locks_waiting_function(const struct locks *locks,
                                                      const struct walk_frame *frame);
/* Names what a method waits for: a class of the library has its module before its name. */
void locks_name_waited(const struct waiting_function *waiting, const char *type,
                       char out[LOCK_NAME_BYTES]);
/* Adds what a thread that stands still waits for. */
MUST_CHECK enum err_code locks_add_wait(struct locks *locks, const struct thread *thread,
                                        struct lock_use *uses, size_t *count);

#endif /* SAMPLER_CPYTHON_LOCKS_LOCK_WAITS_H */
