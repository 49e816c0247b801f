/*
 * native_waits - what a thread waits for in the kernel, and no Python object says: the GIL of an interpreter, and a mutex of POSIX.
 *
 * Everything read is untrusted.
 *
 * Private to the folder.
 */
#ifndef SAMPLER_CPYTHON_LOCKS_NATIVE_WAITS_H
#define SAMPLER_CPYTHON_LOCKS_NATIVE_WAITS_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/locks/lock_state.h"
#include "sampler/process/system_call.h"

/* Adds the GIL that the thread waits for, with the thread that has it.  The thread wakes up every few milliseconds, and goes on waiting
 * while no other thread has taken the GIL: such a wait is found if it was found before. */
MUST_CHECK enum err_code locks_add_gil_wait(struct locks *locks, struct thread *thread,
                                            const struct system_call *call,
                                            struct lock_use *uses, size_t *count);
/* Adds the mutex that the thread waits for, if another thread of the interpreter has it. */
MUST_CHECK enum err_code locks_add_mutex_wait(struct locks *locks, const struct thread *thread,
                                              const struct system_call *call,
                                              struct lock_use *uses, size_t *count);
/* Adds the GIL that the thread has. */
MUST_CHECK enum err_code locks_add_gil(struct locks *locks, const struct thread *thread,
                                       struct lock_use *uses, size_t *count);

#endif /* SAMPLER_CPYTHON_LOCKS_NATIVE_WAITS_H */
