/*
 * nested - threads that are in several interpreters at once.
 *
 * From 3.13 on a thread that enters another interpreter (_interpreters.run_string, or a C program)
 * has a state of its own there, and keeps the one it came from: with the frames it will return to.
 * Only the innermost of its states runs, and only that one is a sample of the thread.
 *
 * Which one is inside is not kept anywhere: it is taken to be that of the newest interpreter in
 * which the thread has frames, as interpreters are entered from those that made them.
 *
 * Depends on: threads.
 */
#ifndef SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H
#define SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H

#include <stdbool.h>

struct thread;
struct thread_list;

/* After the list has changed: tells threads what they may be in, and puts those of the main
 * interpreter behind the others, so that a look at the list meets the inner ones first. */
void sub_stacks_find(struct thread_list *list);

/* Is it in another interpreter, as far as the last look at that says? */
bool sub_stacks_is_away(const struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_SUB_INTERPRETER_STACKS_H */
