/*
 * fold - turns the stack of a thread into a node of the call tree and counts it.
 *
 * Functions and frames of a code object are interned once; the tags of the code object keep their
 * ids.  Marks are frames of file "~":
 *     the C function that the innermost frame calls, where its name is known
 *     <GC>       above the frame in which the garbage collector was started
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
#include "sampler/cpython/threads/thread_state.h"
#include "sampler/cpython/threads/threads.h"
#include "sampler/profile/profile.h"
#include "sampler/sampler.h"
#include "sampler/session/fold/thread_cpu.h"

struct context_marks;
struct fold_native;
struct origins;
struct task_fold;

struct fold {
    struct profile *profile;
    struct code_table *codes;
    struct leaves *leaves;
    struct thread_cpus *cpus;
    int pid;
    process_id process;
    str_id no_file;                         /* of marks */
    str_id opcode_names[OPCODES];           /* 0: not interned yet */
    bool native, no_gc, opcodes;            /* of the options */
    frame_id idle, truncated, gc, callback; /* marks */
    const struct thread_list *threads;      /* of the process; NULL: unknown */
    struct origins *origins;                /* of the session; NULL: functions have none */
    profile_origin origin;                  /* of the process */
    struct task_fold *tasks;                /* NULL: stacks are not of tasks */
    struct fold_native *native_stacks;      /* NULL: no native stacks */
    struct context_marks *contexts;         /* of the session; NULL: not wanted */
};

/* `pid` and `name` are those of the process; several folds may share `cpus`.  Borrows
 * everything. */
MUST_CHECK enum err_code fold_init(struct fold *fold, struct profile *profile,
                                   struct leaves *leaves, struct thread_cpus *cpus,
                                   const struct sampler_options *options, int pid,
                                   const char *name, struct err *err);

/* The frame of a mark. */
MUST_CHECK enum err_code fold_named_mark(struct fold *fold, str_id name, frame_id *out,
                                         struct err *err);
MUST_CHECK enum err_code fold_mark(struct fold *fold, const char *name, frame_id *out,
                                   struct err *err);
/* From now on marks show where C code called back into Python, as with options.native. */
MUST_CHECK enum err_code fold_mark_native(struct fold *fold, struct err *err);
/* *node: in: the node of the caller; out: the node of the frame. */
MUST_CHECK enum err_code fold_add_frame(struct fold *fold, const struct walk_frame *frame,
                                        bool is_outermost, node_id *node);

/* Reads what fold_thread needs of the thread's memory.  Optional: for a thread that is counted only after it
 * has been resumed. */
MUST_CHECK enum err_code fold_read_leaf(struct fold *fold, struct thread *thread);
/* Counts a thread that could not be read. */
void fold_count_failure(struct fold *fold, enum err_code failure, uint32_t times);
/* Counts one sample of the thread, or its failure. */
MUST_CHECK enum err_code fold_thread(struct fold *fold, struct thread *thread,
                                     struct thread_state info, enum err_code failure,
                                     uint64_t now_ns);

/* Counts one sample of the thread whose stack nobody has seen.  The stack that was read last stays. */
MUST_CHECK enum err_code fold_unknown_stack(struct fold *fold, struct thread *thread,
                                            uint64_t now_ns);

#endif /* SAMPLER_SESSION_FOLD_FOLD_H */
