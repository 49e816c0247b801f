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
/* Does a thread that waits in the kernel at this word wait for a GIL?  Only the kernel knows who waits before 3.15.
 * With musl the word is on the thread's own stack, and is read for where it is queued; sp: the thread's stack pointer, 0: unknown.
 * false also: unknown. */
bool thread_state_is_gil(const struct thread_list *list, remote_addr word, remote_addr sp);
struct thread_state thread_state_of(struct thread_list *list, const struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_THREAD_STATE_H */
