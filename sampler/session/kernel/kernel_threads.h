/*
 * kernel_threads - the targets and threads that the kernel engine knows.
 *
 * Threads come from the interpreters' lists.  The engine reports threads that it does not know.
 *
 * Ownership: the caller's storage; kernel_threads_deinit accepts a zeroed one.  Borrows the engine and the
 * targets.
 * Threads: none.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_SESSION_KERNEL_KERNEL_THREADS_H
#define SAMPLER_SESSION_KERNEL_KERNEL_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/three_valued.h"
#include "sampler/kernel/engine.h"
#include "sampler/kernel/record.h"
#include "sampler/process/memory.h"
#include "sampler/process/system_call.h"
#include "sampler/session/kernel/growth.h"
#include "sampler/session/kernel/kernel_paths.h"
#include "sampler/session/kernel/kernel_stack.h"

struct kernel_record;
struct target;
struct thread;

struct fed_thread {
    int32_t tid;
    struct target *target;
    struct thread *thread;
    struct thread
        *current; /* the same, or in an interpreter that it has entered: of the last stack */
    remote_addr tstate;
    bool is_listed;
    bool has_moved;      /* the engine has seen it */
    uint64_t left_ns;    /* when it left its processor; 0: it runs, or has not been seen */
    uint64_t listed_ns;  /* when it was listed first */
    uint64_t counted_ns; /* up to here, its absence has been counted; at first its listing */
    uint64_t shown_ns;   /* left_ns of the absence whose stack the thread has */
    bool lacks_stack;    /* of its absence: the record that has it was lost */
    enum three_valued was_runnable; /* when it left */
    struct system_call call;        /* in which it left */
    kernel_path_id in_kernel;       /* where it left */
    struct kernel_stack stack;
    struct kernel_losses losses; /* that have been counted */
    uint64_t overcounted_ns;     /* of absences whose end was lost, what was counted before */
};

struct fed_target {
    struct target *target;
    uint64_t listed_ns;
    bool is_old;         /* its list of threads */
    uint64_t counted_ns; /* up to here, threads that the engine cannot know have been counted */
    struct kernel_process described;
    struct growth growth, returned;
    uint64_t clears; /* of the table of code objects, when the engine described all last */
};

struct kernel_threads {
    struct kernel *kernel;
    struct fed_target *targets;
    size_t target_count, target_room;
    struct fed_thread *items;
    size_t count, room;
    struct idmap index; /* of threads by tid */
};

void kernel_threads_init(struct kernel_threads *threads, struct kernel *kernel);
void kernel_threads_deinit(struct kernel_threads *threads);

MUST_CHECK enum err_code kernel_threads_add(struct kernel_threads *threads,
                                            struct target *target, struct err *err);
void kernel_threads_remove(struct kernel_threads *threads, const struct target *target);

/* Compares the engine's threads of the target with the interpreter's. */
MUST_CHECK enum err_code kernel_threads_list(struct kernel_threads *threads,
                                             struct fed_target *fed);
/* Gives the engine what is wanted of stacks, if that has changed: native ones, and the way to the value of a
 * ContextVar. */
MUST_CHECK enum err_code kernel_threads_update(struct kernel_threads *threads,
                                               struct fed_target *fed);
/* Has the engine describe all code objects of the target again if ours were cleared. */
void kernel_threads_clear_full(struct kernel_threads *threads, struct fed_target *fed);

/* The thread of a record; NULL: it has ended, or its number is another process's now. */
struct fed_thread *kernel_threads_find(const struct kernel_threads *threads,
                                       const struct kernel_record *record);
/* The thread of this number; NULL: the engine does not know it. */
struct fed_thread *kernel_threads_find_tid(const struct kernel_threads *threads, int32_t tid);
/* Sets fed->current to the thread in the interpreter that the record's stack is of. */
MUST_CHECK enum err_code kernel_threads_enter(struct fed_thread *fed,
                                              const struct kernel_record *record);
/* NULL: the process is no target. */
struct fed_target *kernel_threads_find_target(const struct kernel_threads *threads,
                                              uint32_t pid);

#endif /* SAMPLER_SESSION_KERNEL_KERNEL_THREADS_H */
