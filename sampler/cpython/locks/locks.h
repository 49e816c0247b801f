/*
 * locks - the lock that a thread waits for, and those that it holds.
 *
 * The thread must stand still.  A wait is found in its innermost frames: a function of the standard library that waits has the object
 * as its first variable, and a C function that takes a lock has it as what it was called with.  A held lock is found by the `with`
 * blocks of its frames: the exit function of each lies on the value stack, at a depth that the exception table of the code has.  Some
 * objects also say who has them: recursive locks, module locks, threads.  A lock that was taken by a call of acquire() alone is not
 * found.  The kernel says whether a thread waits for the GIL, or for a mutex of native code.
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
#include "sampler/base/three_valued.h"
#include "sampler/cpython/locks/lock_state.h"
#include "sampler/process/system_call.h"

void locks_init(struct locks *locks, struct code_table *codes, struct strtab *strings,
                const struct thread_list *threads, const struct tasks *tasks,
                const struct leaves *leaves);
void locks_deinit(struct locks *locks);

/* Fills `uses` (LOCK_USES_MAX), the wait first, which a running thread does not have.  call: that it waits in, which may be unknown.
 * Returns ERR_NOMEM or ERR_OK; locks that cannot be read are left out. */
MUST_CHECK enum err_code locks_read(struct locks *locks, struct thread *thread,
                                    enum three_valued runs, const struct system_call *call,
                                    struct lock_use *uses, size_t *count_out);

/* Reads what a task waits for and holds, as it was read last: the tasks that it waits for first.  Of a task that has moved since
 * there is nothing. */
MUST_CHECK enum err_code locks_read_task(struct locks *locks, const struct task *task,
                                         struct lock_use *uses, size_t *count_out);

/* Reads what a thread that moves holds. */
MUST_CHECK enum err_code locks_read_moving(struct locks *locks, const struct thread *thread,
                                           struct lock_use *uses, size_t *count_out);

#endif /* SAMPLER_CPYTHON_LOCKS_LOCKS_H */
