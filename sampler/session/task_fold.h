/*
 * task_fold - asyncio tasks in the call tree.
 *
 * The stack of a thread that runs a task begins with those who await it: for each, outermost first, a
 * mark "<task NAME>" and the frames it waits in; then the mark of the task itself and
 * its frames.  The frames of the event loop below them are left out.  Of several that await one, a
 * random one is taken at each look at the tasks, so that each gets its part.  A task that nobody has given a
 * name, or that is not known (too short, or not asyncio's), has the mark "<task>".
 *
 * With SAMPLER_ASYNC_ALL tasks that wait are samples too: of a thread of their own ("waiting
 * tasks", 0), as many as looks at the threads have gone by.  A task that waits for
 * another one is part of that one's stack, and not counted for itself.
 *
 * Tasks are looked at every TASK_FOLD_EVERY_NS, and less often where that costs more than a
 * twentieth of the time.
 *
 * Ownership: the caller's storage; task_fold_deinit accepts a zeroed one.
 * Threads: the profile's writer.
 * Depends on: cpython/tasks, fold, lanes, profile.
 */
#ifndef SAMPLER_SESSION_TASK_FOLD_H
#define SAMPLER_SESSION_TASK_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/random.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/session/fold.h"

#define TASK_FOLD_EVERY_NS 10000000ull

struct task_base {
    node_id node;
    uint64_t look; /* in which it was made */
    uint64_t seen; /* in which a stack was seen to run it */
};

struct task_fold {
    struct fold *of_threads;
    struct tasks *tasks; /* the interpreter's */
    bool counts_waiting;
    frame_id nameless;
    struct task_base *bases; /* by task: where its own frames stand */
    struct random random;
    uint64_t looks, looked_ns, every_ns, counted_ns;
    uint32_t owed; /* looks at the threads since the tasks were counted last */
    bool is_each;  /* they are looked at whenever the threads are */
    bool is_fresh; /* they have been since the threads were */
};

MUST_CHECK enum err_code task_fold_init(struct task_fold *fold, struct fold *of_threads,
                                        struct tasks *tasks, bool counts_waiting,
                                        struct err *err);
void task_fold_deinit(struct task_fold *fold);

/* To be asked before each look at the threads: is it time to look at the tasks? */
bool task_fold_is_due(struct task_fold *fold, uint64_t now_ns);
/* They have been looked at: counts those that wait. */
MUST_CHECK enum err_code task_fold_count(struct task_fold *fold);
/* The threads have been looked at since, at now_ns.  Of a task that the stacks and the look at the tasks
 * tell differently, as it has begun or ended to run between the two, is known that it moves. */
void task_fold_settle(struct task_fold *fold, uint64_t now_ns);
/* Counts those that have waited since, as they were seen last. */
MUST_CHECK enum err_code task_fold_flush(struct task_fold *fold, uint64_t now_ns);

/* Where the stack of a thread begins: *first is the frame that the node is to be extended with.  0 and
 * the root: it runs no task. */
MUST_CHECK enum err_code task_fold_begin(struct task_fold *fold, const struct stack *stack,
                                         size_t *first, node_id *node);

/* The node that a task waits at (or its mark), with all who await it. */
MUST_CHECK enum err_code task_fold_node(struct task_fold *fold, const struct task *task,
                                        node_id *out);

#endif /* SAMPLER_SESSION_TASK_FOLD_H */
