/*
 * python - the Python interpreter inside a process: its threads and their stacks.
 *
 * python_tick updates the list of threads and reads the stacks of the threads it samples.  If a
 * thread cannot be read, the others are sampled all the same.
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
#include "sampler/base/strtab.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/process/process.h"
#include "sampler/process/thread_locals.h"

/* Threads sampled in one tick.  Of more threads a random part is sampled, all equally likely. */
enum { PYTHON_MAX_THREADS_PER_TICK = 256 };

struct context_value;
struct contexts_trail;
struct python;

MUST_CHECK enum err_code python_attach(struct process *process, enum runtime_effort effort,
                                       struct strtab *strings, struct python **out,
                                       struct err *err);
void python_detach(struct python *python);
/* The service of a process with a title: what it was started with says it, by the interpreter's own objects. */
void python_find_service(struct python *python);

/* Called for each sampled thread.  failure ERR_OK: thread->stack is its stack. */
typedef enum err_code (*python_sample_fn)(void *context, struct thread *thread,
                                          enum err_code failure);

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

/* The thread that a tick of the main thread alone samples; NULL: none. */
struct thread *python_main(const struct python *python);
/* Forgets a stack that may have been read at several instants: the next reading uses nothing of it. */
void python_forget_stack(struct python *python, struct thread *thread);
/* Updates the list of threads without reading stacks.  *changed_out: threads came or went. */
MUST_CHECK enum err_code python_list_threads(struct python *python, bool *changed_out);
/* To be called now and then while samples are taken from copies, before those made since the last call: clears
 * full tables, and begins an epoch: objects read in the one before were there before.  Returns how often the
 * table of code objects has been cleared; all that was learnt before is forgotten then. */
uint64_t python_begin_copies(struct python *python);
/* Reads the code object at addr from a copy of its memory.  Fails if there is none. */
MUST_CHECK enum err_code python_learn_code(struct python *python, struct memory *copy,
                                           remote_addr addr);
/* Is the process's code object at addr still the one that was learnt?  Otherwise forgets it. */
bool python_check_code(struct python *python, remote_addr addr);
/* Samples one thread from a copy of its memory, in which nothing moves. */
struct python_copy {
    struct memory *memory;
    uint64_t taken_ns; /* when it was made; not 0 */
    /* No frame is missing, and all code objects have been learnt.  Otherwise the process is read too. */
    bool is_whole;
    struct copy_tail tail;
};

MUST_CHECK enum err_code python_take_copy(struct python *python, struct thread *thread,
                                          const struct python_copy *taken,
                                          python_sample_fn on_sample, void *context);
/* Samples a thread again whose stack is as python_take_copy has found it, and has been counted.  The copy has
 * only the windows. */
MUST_CHECK enum err_code python_repeat(struct python *python, struct thread *thread,
                                       struct memory *copy, python_sample_fn on_sample,
                                       void *context);
/* Reads the stack of a thread that waits. */
MUST_CHECK enum err_code python_read_waiting(struct python *python, struct thread *thread,
                                             python_sample_fn on_sample, void *context);

/* From now on the values of this ContextVar can be read; name NULL: the current span of OpenTelemetry, by what the thread
 * publishes (thread_contexts.h) or else by its context (contexts.h). */
MUST_CHECK enum err_code python_watch_context(struct python *python, const char *name,
                                              struct err *err);
/* Looks for the variable now: copies have its values only once it is known where it is. */
void python_search_context(struct python *python, uint64_t now_ns);
/* false: none is watched. */
bool python_context_trail(const struct python *python, struct contexts_trail *out);
/* To be called now and then, between ticks: finds what publishes spans in libraries that are new. */
void python_refresh_context(struct python *python, uint64_t now_ns);
/* How memory leads from a thread to the span that it publishes, in each such library; returns how many, 0 if spans are
 * not watched. */
size_t python_span_trails(const struct python *python,
                          struct thread_local_trail out[THREAD_LOCALS_MAX]);
/* The value for a thread that has just been read from this memory, which is a copy or not.  NULL: none is watched. */
struct context_value *python_context(struct python *python, const struct thread *thread,
                                     struct memory *memory, bool is_copy, uint64_t now_ns);

/* Ranges that must be in a copy of a thread's memory besides its stack. thread NULL: no
 * interpreter. */
struct thread_windows {
    remote_addr runtime, interpreter;
    remote_addr main_interpreter; /* 0: it is that */
    uint32_t runtime_bytes, interpreter_bytes, tstate_bytes;
};
/* The interpreters in which the kernel engine has to search for the states of threads, the newest first: all but the main one,
 * which is among them if states are lent; or none, if it cannot.  Returns how many. */
size_t python_searched_interpreters(const struct python *python, remote_addr *out, size_t max);
/* See thread_list_visit. */
struct thread *python_visit(struct python *python, struct thread *thread, remote_addr tstate,
                            remote_addr interp);
/* Offset of an interpreter's window. */
uint32_t python_window_offset(const struct python *python);
struct thread_windows python_windows(const struct python *python, const struct thread *thread);

/* Can the state of a thread be read in this version: does it hold the GIL, does it handle an exception?
 * false: the state is VALUE_UNKNOWN for all threads. */
bool python_knows_gil(const struct python *python);
bool python_knows_exceptions(const struct python *python);
/* The states of its threads are in it; for thread_state_is_gil. */
const struct thread_list *python_thread_list(const struct python *python);

/* The state of the thread at this tick; valid in `on_sample` only. */
struct thread_state python_thread_state(struct python *python, const struct thread *thread);
/* The number of threads that each sampled thread represents in this tick; 1 unless there are more
 * than PYTHON_MAX_THREADS_PER_TICK. */
double python_weight(const struct python *python);
/* The number of threads that a tick samples; 1 before the first tick. */
size_t python_threads_per_tick(const struct python *python, bool all_threads);
/* Was a thread seen in a state that another one has made? */
bool python_lends_states(const struct python *python);
/* How many of the threads have no known thread of the operating system (os_threads.h). */
size_t python_unknown_threads(const struct python *python);
/* The threads of all interpreters, as last listed; none before the first tick. */
struct thread *const *python_threads(const struct python *python, size_t *count_out);
/* Reads the asyncio tasks of the process; python_tasks holds them until the next call. */
MUST_CHECK enum err_code python_read_tasks(struct python *python, uint64_t now_ns);
struct tasks *python_tasks(struct python *python);
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
