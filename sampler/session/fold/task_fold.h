/*
 * task_fold - asyncio tasks in the call tree.
 *
 * The stack of a thread that runs a task begins with the awaiters of the task, outermost first: for
 * each a mark "<task NAME>" and the frames that it waits in.  The mark of the task itself and its
 * frames follow.  The frames of the event loop are left out.  If several tasks await one, each
 * reading chooses one at random, so that each gets its share.  A task has the mark "<task>" if it has no
 * name.  A stack in which no known task runs stays as it is.
 *
 * With SESSION_ASYNC_ALL waiting tasks are samples too.  They share one pseudo-thread ("waiting
 * tasks", id 0) and have one sample for each tick.  A task that waits for another one is part of
 * the other's stack and not counted for itself, unless they wait for each other.  Of very many
 * tasks, those that were read count for the others, too.
 *
 * A waiting task has the value of its context, which is read with the tasks: of TASK_FOLD_CONTEXTS of them at a time, the
 * others follow at the next readings, and have the value they had meanwhile if they still wait where they did.
 *
 * Tasks are read every TASK_FOLD_EVERY_NS, and less often if that takes more than a twentieth of
 * the time.
 *
 * Limits: a stack begins with TASK_FOLD_MAX_AWAITERS tasks, itself included; the others are counted as cut.
 * Ownership: the caller's storage; task_fold_deinit accepts a zeroed one.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_FOLD_TASK_FOLD_H
#define SAMPLER_SESSION_FOLD_TASK_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/random.h"
#include "sampler/cpython/asyncio/tasks.h"
#include "sampler/session/fold/frame_nodes.h"

#define TASK_FOLD_EVERY_NS 10000000ull
enum { TASK_FOLD_MAX_AWAITERS = 256, TASK_FOLD_CONTEXTS = 128 };

struct task_base {
    node_id node;
    uint64_t reading;     /* that made it */
    uint64_t run_reading; /* in which a stack ran the task */
    uint64_t way;         /* of awaiters, that last led to the task */
    uint32_t depth;       /* of the mark, in tasks */
};

struct context_marks;
struct guessed_requests;
struct python;
struct thread_cpus;

struct task_fold {
    struct frame_nodes *nodes;
    struct thread_cpus *cpus;
    struct tasks *tasks; /* the interpreter's */
    bool counts_waiting;
    frame_id nameless;
    struct task_base *bases; /* by task: the node below its own frames */
    size_t base_count;       /* that were used at some time */
    struct random random;
    uint64_t readings, ways, read_ns, every_ns, counted_ns;
    uint32_t owed;                    /* ticks since the tasks were counted last */
    bool is_each;                     /* tasks are read at every tick */
    bool is_beside;                   /* stacks do not show tasks */
    bool is_fresh;                    /* tasks have been read since the last tick */
    struct context_marks *contexts;   /* of the session; NULL: not wanted */
    struct python *python;            /* that is asked for them */
    struct guessed_requests *guesses; /* instead; NULL: what tasks work for is not guessed */
};

MUST_CHECK enum err_code task_fold_init(struct task_fold *fold, struct frame_nodes *nodes,
                                        struct thread_cpus *cpus, struct tasks *tasks,
                                        bool counts_waiting, struct err *err);
void task_fold_deinit(struct task_fold *fold);

/* Is it time to read the tasks?  Call once before each reading; `ticks` is what that stands for. */
bool task_fold_is_due(struct task_fold *fold, uint32_t ticks, uint64_t now_ns);
/* Tasks have been read: counts those that wait. */
MUST_CHECK enum err_code task_fold_count(struct task_fold *fold);
/* Threads have been sampled since then, at now_ns.  If only the stacks or only the tasks show a
 * task as running, it has started or stopped in between: it is marked as moving. */
void task_fold_settle(struct task_fold *fold, uint64_t now_ns);
/* Counts the time since then for the tasks that waited. */
MUST_CHECK enum err_code task_fold_flush(struct task_fold *fold, uint64_t now_ns);

/* Finds where the stack of a thread begins: add its frames from *first on to *node.  0 and the
 * root: the thread runs no task, or stacks do not show it. */
MUST_CHECK enum err_code task_fold_begin(struct task_fold *fold, const struct stack *stack,
                                         size_t *first, node_id *node);

/* The node that a task waits at (or its mark), below all its awaiters. */
MUST_CHECK enum err_code task_fold_node(struct task_fold *fold, const struct task *task,
                                        node_id *out);

#endif /* SAMPLER_SESSION_FOLD_TASK_FOLD_H */
