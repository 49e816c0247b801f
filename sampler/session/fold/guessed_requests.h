/*
 * guessed_requests - the requests that the threads and asyncio tasks of a process work for, by the functions of web frameworks and
 * task queues on their stacks (profile/frameworks.h).
 *
 * One call of an application is a request.  A call of a plain function lasts as long as each reading of its thread has the
 * same frame of it; one of a coroutine, as long as a task waits or runs in it.  Its name is that of the function of
 * the program that the framework calls; samples before that function are of the same request and lack the name (context.h).
 *
 * Exact: another thread, another task, another frame, a reading without the frame, and a frame that is before the
 * instruction at which it was first seen are another request.  Not exact: calls of a plain function that follow one another within
 * a period are one, where the second one is not seen before that instruction; and so are coroutines that have the same memory one after the other
 * between two readings of the tasks.
 *
 * A thread that works for a coroutine belongs to the request whose task awaits the future that the thread is to set, where the
 * framework is anyio, as with Starlette and FastAPI; others belong to no request.  A task belongs to the request
 * of the task that awaits it.
 *
 * Ownership: guessed_requests_destroy accepts NULL.
 * Threads: the profile's writer.
 * Limits: GUESSED_REQUESTS_MAX calls of coroutines at a time; further ones are unknown.  GUESSED_AWAITERS_MAX awaiters of a task are followed.
 */
#ifndef SAMPLER_SESSION_FOLD_GUESSED_REQUESTS_H
#define SAMPLER_SESSION_FOLD_GUESSED_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"
#include "sampler/session/fold/context_marks.h"

struct code_table;
struct layout;
struct task;
struct tasks;
struct thread;

enum { GUESSED_REQUESTS_MAX = 1 << 14, GUESSED_AWAITERS_MAX = 16 };

struct guessed_requests;

/* The process as its interpreter shows it.  tasks NULL: they are not read. */
struct guessed_process {
    struct code_table *codes;
    const struct tasks *tasks;
    const struct layout *layout;
    struct memory *memory;
};

/* Borrows everything. */
MUST_CHECK enum err_code guessed_requests_create(struct context_marks *marks,
                                                 const struct guessed_process *process,
                                                 struct guessed_requests **out);
void guessed_requests_destroy(struct guessed_requests *requests);

/* The work of a thread whose stack has been read, and stood like that since then.  Keeps with the thread what sampled_thread.h says. */
context_id guessed_requests_of_thread(struct guessed_requests *requests,
                                      const struct thread *thread, uint64_t since_ns,
                                      uint64_t now_ns);
/* The work of a task of the last reading that waits. */
context_id guessed_requests_of_task(struct guessed_requests *requests, const struct task *task,
                                    uint64_t now_ns);
/* The tasks have been read: ends the requests that none of them works for. */
void guessed_requests_take_tasks(struct guessed_requests *requests, uint64_t now_ns);

/* Has a thread worked for a request lately?  Then what it works for may change at any tick. */
bool guessed_requests_are_busy(const struct guessed_requests *requests, uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_GUESSED_REQUESTS_H */
