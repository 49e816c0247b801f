/*
 * python_copies - samples the threads of an interpreter from copies of their memory, and says what must be in a copy.
 *
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_COPIES_H
#define SAMPLER_CPYTHON_PYTHON_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/python.h"
#include "sampler/process/thread_locals.h"

struct contexts_trail;

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

/* Looks for the variable now: copies have its values only once it is known where it is. */
void python_search_context(struct python *python, uint64_t now_ns);
/* false: none is watched. */
bool python_context_trail(const struct python *python, struct contexts_trail *out);
/* How memory leads from a thread to the span that it publishes, in each such library; returns how many, 0 if spans are
 * not watched. */
size_t python_span_trails(const struct python *python,
                          struct thread_local_trail out[THREAD_LOCALS_MAX]);
/* What must be in a copy of a thread's memory besides its stack.  thread NULL: no interpreter. */
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

/* Was a thread seen in a state that another one has made? */
bool python_lends_states(const struct python *python);

#endif /* SAMPLER_CPYTHON_PYTHON_COPIES_H */
