/*
 * python_tick - reads the threads of an interpreter from outside, many in one call.
 *
 * If a thread cannot be read, the others are sampled all the same.
 *
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_TICK_H
#define SAMPLER_CPYTHON_PYTHON_TICK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/python.h"

/* A tick samples the main thread of the main interpreter, or all threads of all interpreters.
 * python_choose updates the list of threads and chooses those of this tick.  python_sample reads some
 * of them; python_tick chooses and reads all.  Returns the first error of `on_sample`, or an error of
 * the whole process; process_fate then says whether the process still runs. */
MUST_CHECK enum err_code python_choose(struct python *python, bool all_threads);
struct thread *const *python_chosen(const struct python *python, size_t *count_out);
MUST_CHECK enum err_code python_sample(struct python *python, struct thread *const *threads,
                                       size_t count, python_sample_fn on_sample, void *context);
MUST_CHECK enum err_code python_tick(struct python *python, bool all_threads,
                                     python_sample_fn on_sample, void *context);

/* Forgets a stack that may have been read at several instants: the next reading uses nothing of it. */
void python_forget_stack(struct python *python, struct thread *thread);
/* The number of threads that each sampled thread represents in this tick; 1 unless there are more
 * than PYTHON_MAX_THREADS_PER_TICK. */
double python_weight(const struct python *python);
/* The number of threads that a tick samples; 1 before the first tick. */
size_t python_threads_per_tick(const struct python *python, bool all_threads);

#endif /* SAMPLER_CPYTHON_PYTHON_TICK_H */
