/*
 * os_threads - which thread of the operating system runs each thread state.
 *
 * The target itself names them: by an id in each thread state (from 3.11 on), and by another in the structure that
 * a pthread_t points to (glibc, musl).  The first is wrong after a fork that CPython does not know of: the child still has
 * the ids of its parent's threads.  A hostile target may name any thread of the host.  So an id counts only
 * if the kernel has it among the threads of this process, and if no other state of the same interpreter has it.  The
 * state's id comes first, then that of its structure; a state with neither is of an unknown thread, host_tid 0.
 *
 * A program that embeds Python may lend a state that one thread has made to another (PyThreadState_Swap), and the numbers stay
 * those of the first.  A state that has frames is of the thread whose C stack they were called from, if that has a
 * state of its own, which says where its C stack is (c_stacks.h).
 *
 * A state whose thread is known to be gone is no thread: it leaves the list.  States of several interpreters that
 * turn out to be of one thread are one sample (sub_interpreter_stacks.h).
 *
 * Ownership: the caller's storage; os_threads_deinit accepts a zeroed one.  Borrows the list.
 * Threads: none.
 * Limits: a state that is lent to a thread without one, or whose own thread has ended, is of an unknown thread, or none.
 */
#ifndef SAMPLER_CPYTHON_THREADS_OS_THREADS_H
#define SAMPLER_CPYTHON_THREADS_OS_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/threads/c_stacks.h"
#include "sampler/process/thread_ids.h"

struct thread;
struct thread_list;

struct os_threads {
    struct thread_list *list;
    struct thread_ids ids;
    struct idmap
        claimed; /* indexes of threads in the list, by host_tid; while they are matched */
    size_t claimed_count; /* threads of the operating system among them */
    uint32_t tid_offset;  /* of the id in what a pthread_t points to; 0: not found yet */
    bool has_searched;    /* for that, since the threads were last matched */
    size_t unknown_count; /* states in the list with host_tid 0 */
    struct c_stacks stacks;
    uint64_t stacks_ns,
        stacks_again_ns; /* when they were read, and after how long they may be again */
};

void os_threads_init(struct os_threads *threads, struct thread_list *list, int pid);
void os_threads_deinit(struct os_threads *threads);

/* Sets host_tid of new threads, and again of those whose thread has ended; call after each walk of the list, and now and
 * then in between.  Where all are known and alive, it costs a system call for each. */
MUST_CHECK enum err_code os_threads_match(struct os_threads *threads);

/* May a thread run in a state that another one has made? */
bool os_threads_may_lend(const struct os_threads *threads);
/* Gives a state that has just been read to the thread whose C stack its frames were called from.  *has_moved_out: another one
 * than before; call sub_stacks_find then. */
MUST_CHECK enum err_code os_threads_place(struct os_threads *threads, struct thread *thread,
                                          bool *has_moved_out);

/* A state that the kernel engine has copied stays that of the thread which it names: this only sets has_lent of the list. */
MUST_CHECK enum err_code os_threads_note_place(struct os_threads *threads,
                                               struct thread *thread);

#endif /* SAMPLER_CPYTHON_THREADS_OS_THREADS_H */
