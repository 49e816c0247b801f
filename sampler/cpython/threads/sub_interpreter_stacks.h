/*
 * sub_interpreter_stacks - threads that are inside several interpreters.
 *
 * From 3.13 on, a thread that enters another interpreter (_interpreters.run_string, or a C program)
 * has a second thread state there.  The first one still holds the frames that the thread will return
 * to.  Only the innermost state runs, and only that one is a sample of the thread.
 *
 * CPython does not record which state is the innermost.  A program enters an interpreter from the one
 * that created it, so the innermost state is taken to be in the newest interpreter in which the
 * thread has frames.
 *
 * A program that embeds Python may keep a state of each thread in each interpreter, in any version.  States
 * without frames are no samples beside one that has some; of several without, one is.
 *
 * Depends on: threads.
 */
#ifndef SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H
#define SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H

#include <stdbool.h>

struct thread;
struct thread_list;

/* Call this after the list has changed.  It sets `inner` and `earlier` of the threads, and moves those of the
 * main interpreter to the end, so that inner ones are sampled before outer ones. */
void sub_stacks_find(struct thread_list *list);

/* Is another state the sample of the thread, according to the last readings of its states? */
bool sub_stacks_runs_elsewhere(const struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H */
