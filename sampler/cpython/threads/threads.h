/*
 * threads - the threads of all interpreters of a process, kept from tick to tick.
 *
 * The lists are walked link by link once; after that one call reads all links at once and tells
 * whether anything changed.
 *
 * Ownership: the caller's storage; thread_list_deinit accepts a zeroed one.  A thread stays at
 * its address until it is no longer listed.
 * Limits: THREADS_MAX threads, THREADS_MAX_INTERPRETERS interpreters.
 * Depends on: base, memory, runtime, stack.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREADS_H
#define SAMPLER_CPYTHON_THREADS_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/process/memory.h"

enum {
    THREADS_MAX = 1 << 16,
    THREADS_MAX_INTERPRETERS = 256,
    THREADS_HEAD_BYTES = 512,
    THREADS_WINDOW_BYTES = 2048,
};

/* The fields of a thread state that say who it is. */
struct thread_head {
    remote_addr addr, next, interp;
    uint64_t ident;
    int32_t tid; /* native, as the target sees it; 0: not started yet */
};

/* What the interpreter says a thread is doing. */
struct thread_state {
    enum three_valued has_gil, waits_gil, in_gc, has_exception;
    remote_addr gc_frame; /* that started the collection going on (3.15), 0: none or unknown */
};

struct thread {
    struct thread_head head;
    int32_t host_tid;       /* native, as this host sees it; 0: unknown */
    uint64_t interp_id;     /* 0: the main interpreter */
    bool is_main;           /* of the main interpreter */
    bool is_new;            /* not named yet */
    uint64_t looked_ns;     /* by who looks; 0: never */
    bool is_stopped;        /* for this look, by who looks */
    enum three_valued runs; /* did it run, or was it ready to, before it was stopped? */
    uint32_t names_read;    /* times its name has been read */
    str_id name;
    uint32_t tag;         /* for the caller; 0 when the thread or its name is new */
    uint64_t listed;      /* the listing it was last part of */
    struct thread *inner; /* the same thread in a newer interpreter (nested.h); NULL: none */
    struct stack stack;
    struct leaf leaf; /* for the caller of leaf_read */
};

/* The window is the part of an interpreter's state that is read at every tick. */
struct interpreter {
    remote_addr addr, next, first_thread;
    uint64_t id;
    unsigned char window[THREADS_WINDOW_BYTES];
};

struct thread_list {
    struct memory *memory;
    const struct runtime *runtime;
    struct thread **items;
    size_t count, room;
    struct interpreter *interpreters;
    size_t interpreter_count, interpreter_room;
    uint32_t window_start, window_bytes;
    unsigned char runtime_window[THREADS_WINDOW_BYTES];
    uint32_t runtime_start, runtime_bytes;
    uint64_t listing;
    remote_addr none, exception; /* None, and an object that is not; 0: not seen yet */
    size_t head_bytes;
    unsigned char *heads; /* scratch for checking, room * head_bytes */
    size_t heads_room;
};

void thread_list_init(struct thread_list *list, struct memory *memory,
                      const struct runtime *runtime);
void thread_list_deinit(struct thread_list *list);
/* Forgets the stacks that were read; needed when the code objects have been forgotten. */
void thread_list_clear_stacks(struct thread_list *list);

/* Walks all lists link by link; a list that changes meanwhile is walked again.  Nothing is added
 * to what is known, and nothing dropped, by a walk that fails.  ERR_GONE: the
 * main thread has become another, which happens only when the program was replaced. */
MUST_CHECK enum err_code thread_list_walk(struct thread_list *list);
/* Is the list as it was?  ERR_FAULT: a thread is gone. */
MUST_CHECK enum err_code thread_list_check(struct thread_list *list, bool *same_out);
/* Threads are added in front, so the heads of the lists tell whether there are new ones.  For a
 * caller that reads stacks in the same call, before this: thread_list_plan fills
 * thread_list_plan_count places; once they have been read thread_list_heads_same tells, and
 * thread_list_state, and each stack is told the generation of its interpreter's code objects.  (New
 * interpreters are seen by thread_list_check only.) */
size_t thread_list_plan_count(const struct thread_list *list);
void thread_list_plan(struct thread_list *list, struct memory_span *spans);
bool thread_list_heads_same(const struct thread_list *list);
void thread_list_pass_generation(const struct thread_list *list, struct thread *thread);
/* Are there such facts of this version?  If not, every thread's are unknown. */
bool thread_list_tells_gil(const struct thread_list *list);
bool thread_list_tells_exceptions(const struct thread_list *list);
struct thread_state thread_list_state(struct thread_list *list, const struct thread *thread);
struct thread *thread_list_main(const struct thread_list *list);

#endif /* SAMPLER_CPYTHON_THREADS_THREADS_H */
