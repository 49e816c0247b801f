/*
 * thread_state - what a thread is doing, according to the interpreter: the GIL, garbage collection,
 * exceptions.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREAD_STATE_H
#define SAMPLER_CPYTHON_THREADS_THREAD_STATE_H

#include <stdbool.h>

#include "sampler/base/three_valued.h"
#include "sampler/cpython/threads/threads.h"

struct thread_state {
    enum three_valued has_gil, waits_gil, in_gc, has_exception;
    remote_addr gc_frame; /* the frame that started the collection (3.15); 0: none or unknown */
};

/* Can this be read in the target's version?  If not, it is VALUE_UNKNOWN for every thread. */
bool thread_state_knows_gil(const struct thread_list *list);
bool thread_state_knows_exceptions(const struct thread_list *list);
/* A GIL of a process. */
struct gil {
    remote_addr addr;   /* of its fields */
    uint64_t interp_id; /* of the interpreter that has it; 0: the main one */
    remote_addr holder; /* the state of the thread that has it; 0: nobody has it */
    uint64_t switches;  /* how often it has gone from one thread to another */
};

/* Does a thread that waits in the kernel at this word wait for a GIL?  Only the kernel knows who waits before 3.15.
 * With musl the word is on the thread's own stack, and is read for where it is queued; sp: the thread's stack pointer, 0: unknown.
 * false also: unknown. */
bool thread_state_is_gil(const struct thread_list *list, remote_addr word, remote_addr sp);
/* Reads that GIL.  false: it waits for none, or that is unknown. */
bool thread_state_waited_gil(const struct thread_list *list, remote_addr word, remote_addr sp,
                             struct gil *out);
/* Reads the GIL at this address once more. */
bool thread_state_read_gil(const struct thread_list *list, remote_addr addr, struct gil *out);
/* Reads the GIL that a thread has. */
bool thread_state_held_gil(const struct thread_list *list, const struct thread *thread,
                           struct gil *out);
struct thread_state thread_state_of(struct thread_list *list, const struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_THREAD_STATE_H */
