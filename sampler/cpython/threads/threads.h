/*
 * threads - the list of threads of all interpreters of a process.
 *
 * The linked lists are walked once, one thread at a time.  After that, one call reads all links at
 * once to see whether anything changed.
 *
 * Ownership: the caller's storage; thread_list_deinit accepts a zeroed one.  A struct thread stays
 * at its address until it leaves the list.
 * Limits: THREADS_MAX threads, THREADS_MAX_INTERPRETERS interpreters.
 */
#ifndef SAMPLER_CPYTHON_THREADS_THREADS_H
#define SAMPLER_CPYTHON_THREADS_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/strtab.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/process/memory.h"

enum {
    THREADS_MAX = 1 << 16,
    THREADS_MAX_INTERPRETERS = 256,
    THREADS_HEAD_BYTES = 512,
    THREADS_WINDOW_BYTES = 2048,
};

/* The fields of a thread state that identify it. */
struct thread_head {
    remote_addr addr, next, interp;
    uint64_t ident;
    int32_t tid; /* native, in the target's pid namespace; 0: not started yet */
};

struct thread {
    struct thread_head head;
    int32_t host_tid;    /* native, on this host; 0: unknown */
    uint64_t interp_id;  /* 0: the main interpreter */
    bool is_main;        /* of the main interpreter */
    bool is_new;         /* not named yet */
    bool is_gone;        /* no thread of the operating system runs it */
    uint32_t names_read; /* times its name has been read */
    str_id name;
    uint32_t tag;         /* for the caller; 0 when the thread or its name is new */
    uint64_t listed;      /* number of the last walk that found it */
    struct thread *inner; /* the same thread in a newer interpreter; NULL: none */
    bool is_inner;        /* it is that of another one */
    /* Other states of the same thread: the next ones before and behind it in the list; NULL: none. */
    struct thread *earlier, *later;
    /* host_tid is that of another thread than the one that made the state. */
    bool is_lent;
    remote_addr waited_gil;           /* that it waited for when its locks were read; 0: none */
    uint64_t waited_switches;         /* of that */
    remote_addr c_stack, c_stack_end; /* of host_tid; 0: unknown */
    struct thread *visit;             /* thread_list_visit */
    struct stack stack;
    void *kept; /* for the caller: kept_bytes of the list, zeroed when the thread is new */
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
    struct idmap index; /* of the first `indexed` threads, while the lists are walked */
    size_t indexed;
    uint64_t compared; /* threads with those of a walk, in all */
    struct thread_head
        *known; /* all states of the last walk, not started ones too; none: it failed */
    size_t known_count, known_room;
    struct interpreter *interpreters;
    size_t interpreter_count, interpreter_room;
    uint32_t window_start, window_bytes;
    unsigned char runtime_window[THREADS_WINDOW_BYTES];
    uint32_t runtime_start, runtime_bytes;
    uint64_t listing;
    size_t kept_bytes;           /* that the caller keeps with each thread */
    bool has_gone;               /* the last walk found states of threads that are gone */
    bool has_lent;               /* a thread was seen in a state that another one has made */
    remote_addr none, exception; /* None, and an object that is not None; 0: not seen yet */
    size_t head_bytes;
    unsigned char *heads; /* scratch for checking, room * head_bytes */
    size_t heads_room;
};

void thread_list_init(struct thread_list *list, struct memory *memory,
                      const struct runtime *runtime);
void thread_list_deinit(struct thread_list *list);
/* Chooses the parts of the states of interpreters and of the runtime that are read with every tick, by the layout. */
void thread_list_choose_windows(struct thread_list *list);
/* From now on copies of thread states reach to this field, a word. */
void thread_list_copy_field(struct thread_list *list, uint32_t offset);
/* Forgets the stacks that were read; needed when the code objects have been forgotten. */
void thread_list_clear_stacks(struct thread_list *list);
/* Forgets the stack of one thread. */
void thread_list_clear_stack(const struct thread_list *list, struct thread *thread);

/* Walks all lists; a list that changes meanwhile is walked again.  A walk that fails adds and removes
 * nothing.  ERR_GONE: the main thread is another one, so the process has called exec.  Call sub_stacks_find then. */
MUST_CHECK enum err_code thread_list_walk(struct thread_list *list);
/* The thread in an interpreter that it has entered, in a state there that need not be listed.  It lives as long as
 * the thread; a later call for another state overwrites it.  NULL: out of memory. */
struct thread *thread_list_visit(const struct thread_list *list, struct thread *thread,
                                 remote_addr tstate, remote_addr interp);
/* Removes those that are gone; call sub_stacks_find then.  A later walk finds them again. */
void thread_list_drop_gone(struct thread_list *list);
/* Is the list unchanged?  ERR_FAULT: a thread is gone. */
MUST_CHECK enum err_code thread_list_check(struct thread_list *list, bool *same_out);
/* CPython adds threads at the head of a list, so an unchanged head means no new thread.  A caller
 * that reads stacks reads the heads after them, in the same call: thread_list_plan fills
 * thread_list_plan_count spans.  When these have been read, thread_list_heads_same,
 * thread_list_set_generation (for each stack), thread_list_u64 and thread_state_of use them.  New interpreters are
 * found by thread_list_check only. */
size_t thread_list_plan_count(const struct thread_list *list);
void thread_list_plan(struct thread_list *list, struct memory_span *spans);
/* Takes the windows that concern this thread from a copy of its memory. */
void thread_list_take_windows(struct thread_list *list, const struct thread *thread,
                              struct memory *copy);
bool thread_list_heads_same(const struct thread_list *list);
void thread_list_set_generation(const struct thread_list *list, struct thread *thread);
/* NULL: it has not been listed. */
const struct interpreter *thread_list_main_interpreter(const struct thread_list *list);
/* The thread's interpreter; NULL: unknown. */
const struct interpreter *thread_list_interpreter(const struct thread_list *list,
                                                  const struct thread *thread);
/* A field of an interpreter's window. */
static inline uint64_t thread_list_u64(const struct thread_list *list,
                                       const struct interpreter *interp, uint32_t offset)
{
    return field_u64(interp->window, offset - list->window_start);
}
struct thread *thread_list_main(const struct thread_list *list);

#endif /* SAMPLER_CPYTHON_THREADS_THREADS_H */
