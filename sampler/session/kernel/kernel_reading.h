/*
 * kernel_reading - readings of threads for the kernel engine: from a copy of a thread's memory, or of a thread that waits from its
 * process.
 *
 * Ownership: borrows everything.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_READING_H
#define SAMPLER_SESSION_KERNEL_KERNEL_READING_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/three_valued.h"
#include "sampler/process/system_call.h"
#include "sampler/profile/measure.h"
#include "sampler/session/engine.h"

struct copy_memory;
struct native_copies;
struct native_copy;
struct target;
struct thread;

/* Instants at which a thread stood at one place. */
struct kernel_instants {
    uint64_t since_ns, until_ns;
    uint32_t times;
    enum measure measure;       /* whose samples these are */
    enum three_valued runs;     /* did it run, or was it ready to? */
    enum three_valued runnable; /* if so, was it without a processor? */
    struct system_call call;    /* if not, where it waited */
    struct kernel_path in_kernel;
};

/* Counts a thread from a copy of its memory.  native: its native stack; NULL: none. */
MUST_CHECK enum err_code kernel_reading_take(struct target *target, struct thread *thread,
                                             struct copy_memory *copy,
                                             const struct native_copy *native,
                                             const struct kernel_instants *instants);
/* Counts the thread's last sample of such a copy again, in the state that the windows in `copy` show.  Only
 * while thread->stack.is_placed. */
MUST_CHECK enum err_code kernel_reading_take_same(struct target *target, struct thread *thread,
                                                  struct copy_memory *copy,
                                                  const struct kernel_instants *instants);
/* Counts a thread of which no copy arrived: its stack is unknown. */
MUST_CHECK enum err_code kernel_reading_take_unknown(struct target *target,
                                                     struct thread *thread,
                                                     const struct kernel_instants *instants);
/* Counts a thread that waits, as its process has it.  `copies` has room for its native stack. */
MUST_CHECK enum err_code kernel_reading_wait(struct target *target, struct thread *thread,
                                             struct native_copies *copies,
                                             const struct kernel_instants *instants);
/* Does the thread run, or wait for nothing but a processor?  Asks the kernel.  *call_out: if not, where it
 * waits. */
bool kernel_reading_is_ready(const struct target *target, const struct thread *thread,
                             struct system_call *call_out);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_READING_H */
