/*
 * python - the Python interpreter inside a process: its threads and their stacks.
 *
 * python_tick keeps the list of threads and reads the stack of each that is wanted.  A thread
 * that cannot be read spoils only itself.
 *
 * Ownership: python_attach makes, python_detach frees; strings are interned into the strtab that
 * was given and that must outlive it.  The process stays the caller's.
 * Threads: none.
 * Depends on: base, process, runtime, threads, code.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_H
#define SAMPLER_CPYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/process/process.h"

/* Threads looked at in one tick; of more a random part is, each as likely as any other. */
enum { PYTHON_MAX_THREADS_PER_TICK = 256 };

struct python;

MUST_CHECK enum err_code python_attach(struct process *process, enum runtime_effort effort,
                                       struct strtab *strings, struct python **out,
                                       struct err *err);
void python_detach(struct python *python);

/* Called for each thread looked at.  failure ERR_OK: thread->stack is its stack. */
typedef enum err_code (*python_seen)(void *context, struct thread *thread,
                                     enum err_code failure);

/* Looks at the main thread of the main interpreter, or at all threads of all interpreters.
 * Returns the first error of `seen`, or one that concerns the process as a whole: ask
 * process_fate what became of it. */
MUST_CHECK enum err_code python_tick(struct python *python, bool all_threads, python_seen seen,
                                     void *context);

/* Does this version tell of its threads who holds the GIL, and who handles an exception? */
bool python_tells_gil(const struct python *python);
bool python_tells_exceptions(const struct python *python);

/* What the thread was doing at this tick; for `seen`. */
struct thread_state python_info(struct python *python, const struct thread *thread);
/* How many threads each one looked at in this tick stands for; 1 unless there are more than
 * PYTHON_MAX_THREADS_PER_TICK. */
double python_weight(const struct python *python);
/* How many threads a tick would look at, 1 before the first. */
size_t python_threads_per_tick(const struct python *python, bool all_threads);
/* The threads of all interpreters as they were listed last; none before the first tick. */
struct thread *const *python_threads(const struct python *python, size_t *count_out);
/* Looks at the asyncio tasks of the process; what it saw stays until the next look. */
MUST_CHECK enum err_code python_read_tasks(struct python *python, uint64_t now_ns);
struct tasks *python_tasks(struct python *python);
struct code_table *python_codes(struct python *python);
/* For looking at the leaf of a stack. */
struct leaves *python_leaves(struct python *python);
const char *python_version(const struct python *python);
bool python_is_validated(const struct python *python);
const struct runtime *python_runtime(const struct python *python);
/* An address that is mapped as long as the program runs: _PyRuntime. */
remote_addr python_anchor(const struct python *python);

#endif /* SAMPLER_CPYTHON_PYTHON_H */
