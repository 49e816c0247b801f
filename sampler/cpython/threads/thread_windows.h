/*
 * thread_windows - the parts of the states of interpreters and of the runtime that are read with every tick.
 *
 * The functions of threads.h about heads, windows and the generation of code objects are here too.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREAD_WINDOWS_H
#define SAMPLER_CPYTHON_THREADS_THREAD_WINDOWS_H

#include "sampler/cpython/threads/threads.h"

/* Chooses the parts from the layout of the runtime. */
void thread_windows_init(struct thread_list *list);

#endif /* SAMPLER_CPYTHON_THREADS_THREAD_WINDOWS_H */
