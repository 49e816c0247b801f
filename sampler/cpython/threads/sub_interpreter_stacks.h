/*
 * sub_interpreter_stacks - threads that are inside several interpreters.
 *
 * From 3.13 on, a thread that enters another interpreter (_interpreters.run_string, or a C program)
 * has a second thread state there.  The first one still holds the frames that the thread will return
 * to.  Only the innermost state runs, and only that one is a sample of the thread.
 *
 * CPython does not record which state is the innermost: until 3.12 the GIL may name the one that took it, which has entered
 * another since, and a thread that waits holds none.  It is the one whose frames were called from the innermost place
 * on the C stack, where entry frames (3.12 and later) and the structures around the evaluation of frames (3.11 and
 * 3.12) lie.  Where that is unknown, it is taken to be in the newest interpreter in which the thread has frames.
 *
 * A thread may run in a state that another one has made, with that one's number: os_threads.h.  Until 3.10 nothing shows
 * that, so each state that has frames is a sample there.
 *
 * A program that embeds Python may keep a state of each thread in each interpreter, in any version.  States
 * without frames are no samples beside one that has some; of several without, one is, unless the thread is unknown.
 *
 * Limits: THREADS_MAX_INTERPRETERS states of a thread; more count as another thread's.
 */
#ifndef SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H
#define SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H

#include <stdbool.h>

#include "sampler/process/memory.h"

struct thread;
struct thread_list;

/* Call this after the list has changed.  It sets `inner`, `is_inner`, `earlier` and `later` of the threads.  Of several
 * interpreters, it moves the states of each thread next to each other, that of the main interpreter last. */
void sub_stacks_find(struct thread_list *list);

/* The address on the C stack at which the innermost frames of a state that has just been read
 * were called; 0: unknown, or it has no frames. */
remote_addr sub_stacks_place(const struct thread_list *list, const struct thread *thread);

/* Is it a state that no thread is known to run in, without frames?  Programs that embed Python make states for threads to
 * come, and some have more states than threads. */
bool sub_stacks_is_spare(const struct thread *thread);

/* The state that names the thread: that of the interpreter in which it has begun. */
struct thread *sub_stacks_outermost(struct thread *thread);

/* Has the thread of the operating system several states? */
bool sub_stacks_are_several(const struct thread *thread);

/* According to the last reading of the state. */
bool sub_stacks_has_frames(const struct thread *thread);

/* The state that is the sample of this thread, according to the last readings of all its states. */
struct thread *sub_stacks_innermost(const struct thread_list *list, struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H */
