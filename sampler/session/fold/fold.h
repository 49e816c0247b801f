/*
 * fold - turns one sample of a thread into a node of the call tree (frame_nodes.h) and counts it.
 *
 * Marks that a stack may end with:
 *     the C function that the innermost frame calls, where its name is known
 *     <GC>       above the frame in which the garbage collector was started
 *     <not attributed>  alone: samples of a measure of which only the process is known
 *     <native>   with options.native: where C code called back into Python, and where a C function
 *                without a known name is called
 *
 * Ownership: the caller's storage; holds nothing.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_FOLD_FOLD_H
#define SAMPLER_SESSION_FOLD_FOLD_H

#include "sampler/base/err.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"
#include "sampler/session/engine.h"
#include "sampler/session/fold/frame_nodes.h"
#include "sampler/session/fold/thread_cpu.h"

struct context_marks;
struct fold_native;
struct task_fold;
struct thread_list;

struct fold {
    struct frame_nodes nodes;
    struct thread_cpus *cpus;
    bool no_gc;                        /* of the options */
    const struct thread_list *threads; /* of the process; NULL: unknown */
    struct task_fold *tasks;           /* NULL: stacks are not of tasks */
    struct fold_native *native_stacks; /* NULL: no native stacks */
    struct context_marks *contexts;    /* of the session; NULL: not wanted */
};

/* As frame_nodes_init; several folds may share `cpus`. */
MUST_CHECK enum err_code fold_init(struct fold *fold, struct profile *profile,
                                   struct leaves *leaves, struct thread_cpus *cpus,
                                   const struct session_options *options, int pid,
                                   const char *name, struct err *err);

/* Reads what fold_reading needs of the thread's memory.  Optional: for a thread that is counted only after it
 * has been resumed. */
MUST_CHECK enum err_code fold_read_leaf(struct fold *fold, const struct thread *thread);
/* Counts a thread that could not be read. */
void fold_count_failure(struct fold *fold, enum err_code failure, uint32_t times);
/* Counts a reading of a thread, or its failure.  The thread keeps what sampled_thread.h says. */
MUST_CHECK enum err_code fold_reading(struct fold *fold, const struct thread_reading *reading);
/* Counts a thread whose stack nobody has seen.  The stack that was read last stays. */
MUST_CHECK enum err_code fold_unknown_stack(struct fold *fold,
                                            const struct thread_reading *reading);
/* Counts samples of a measure of which only their process is known. */
MUST_CHECK enum err_code fold_unattributed(struct fold *fold, enum measure measure,
                                           uint32_t times, uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_FOLD_H */
