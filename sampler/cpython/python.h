/*
 * python - the Python interpreter inside a process: its threads and their stacks.
 *
 * python_tick.h reads the stacks of its threads from outside, python_copies.h takes them from copies of their memory.
 *
 * Ownership: python_attach allocates, python_detach frees.  Strings are interned into the caller's
 * strtab, which must outlive this object.  The process stays the caller's.
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_H
#define SAMPLER_CPYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/lock_use.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/process/process.h"
#include "sampler/process/system_call.h"

/* Threads sampled in one tick.  Of more threads a random part is sampled, all equally likely. */
enum { PYTHON_MAX_THREADS_PER_TICK = 256 };

struct buffer;
struct locals_request;
struct python;
struct task;

MUST_CHECK enum err_code python_attach(struct process *process, enum runtime_effort effort,
                                       struct strtab *strings, struct python **out,
                                       struct err *err);
void python_detach(struct python *python);
/* From now on, ticks that cannot read all threads read them in turn, not a random part. */
void python_take_turns(struct python *python);
/* From now on so many bytes lie with each thread that is new (thread->kept), zeroed, for the caller. */
void python_keep_with_threads(struct python *python, size_t bytes);
/* The service of a process with a title: what it was started with says it, by the interpreter's own objects. */
void python_find_service(struct python *python);

/* Called for each sampled thread.  failure ERR_OK: thread->stack is its stack. */
typedef enum err_code (*python_sample_fn)(void *context, struct thread *thread,
                                          enum err_code failure);

/* The thread that a tick of the main thread alone samples; NULL: none. */
struct thread *python_main(const struct python *python);
/* From now on the values of this ContextVar can be read; name NULL: the current span of OpenTelemetry, by what the thread
 * publishes (thread_contexts.h) or else by its context (contexts.h). */
MUST_CHECK enum err_code python_watch_context(struct python *python, const char *name,
                                              struct err *err);
/* To be called now and then, between ticks: finds what publishes spans in libraries that are new. */
void python_refresh_context(struct python *python, uint64_t now_ns);
/* The value for a thread, from the memory of this source.  NULL: none is watched. */
struct context_value *python_context(struct python *python, const struct thread *thread,
                                     struct memory *memory, enum context_source source,
                                     uint64_t now_ns);

/* Can the state of a thread be read in this version: does it hold the GIL, does it handle an exception?
 * false: the state is VALUE_UNKNOWN for all threads. */
bool python_knows_gil(const struct python *python);
bool python_knows_exceptions(const struct python *python);
/* The states of its threads are in it; for thread_state_is_gil. */
const struct thread_list *python_thread_list(const struct python *python);

/* The state of the thread at this tick; valid in `on_sample` only. */
struct thread_state python_thread_state(struct python *python, const struct thread *thread);
/* How many of the threads have no known thread of the operating system (os_threads.h). */
size_t python_unknown_threads(const struct python *python);
/* The threads of all interpreters, as last listed; none before the first tick. */
struct thread *const *python_threads(const struct python *python, size_t *count_out);
/* Reads the asyncio tasks of the process; python_tasks holds them until the next call. */
MUST_CHECK enum err_code python_read_tasks(struct python *python, uint64_t now_ns);
struct tasks *python_tasks(struct python *python);
/* The value for one of these tasks, which waits.  NULL: none is watched. */
struct context_value *python_task_context(struct python *python, const struct task *task,
                                          uint64_t now_ns);
/* The locks of a thread that has just been read and stands still; see locks_read. */
MUST_CHECK enum err_code python_read_locks(struct python *python, struct thread *thread,
                                           enum three_valued runs,
                                           const struct system_call *call,
                                           struct lock_use *uses, size_t *count_out);
/* The variables of a thread that has just been read and stands still; see locals_read. */
MUST_CHECK enum err_code python_read_locals(struct python *python, const struct thread *thread,
                                            const struct locals_request *request,
                                            struct buffer *out);
/* The locks of a task of the last reading; see locks_read_task. */
MUST_CHECK enum err_code python_read_task_locks(struct python *python, const struct task *task,
                                                struct lock_use *uses, size_t *count_out);
/* Locks that a thread which moves holds; see locks_read_moving. */
MUST_CHECK enum err_code python_read_moving_locks(struct python *python,
                                                  const struct thread *thread,
                                                  struct lock_use *uses, size_t *count_out);
struct code_table *python_codes(struct python *python);
/* For leaf_read. */
struct leaves *python_leaves(struct python *python);
/* How many interpreters the process has; 0: its threads have not been listed yet. */
uint32_t python_interpreters(const struct python *python);
const char *python_version(const struct python *python);
/* If not, a thread that moves cannot be read for certain, and C functions have no names.  VALUE_NO: a version newer than any
 * that was tested numbers its instructions differently.  VALUE_UNKNOWN: not seen yet. */
enum three_valued python_knows_opcodes(const struct python *python);
bool python_is_validated(const struct python *python);
const struct runtime *python_runtime(const struct python *python);
/* "CPython 3.11.7 in FILE": an interpreter of the process besides this one.  false: none was found. */
bool python_find_another(struct python *python, char *out, size_t bytes);
/* The address of _PyRuntime, which is mapped as long as the program runs. */
remote_addr python_anchor(const struct python *python);

#endif /* SAMPLER_CPYTHON_PYTHON_H */
