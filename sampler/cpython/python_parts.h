/*
 * python_parts - shared by python.c, which has the interpreter and its threads, python_tick.c and python_copies.c, which read
 * their stacks.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_PARTS_H
#define SAMPLER_CPYTHON_PYTHON_PARTS_H

#include "sampler/base/random.h"
#include "sampler/cpython/locals/locals.h"
#include "sampler/cpython/locks/locks.h"
#include "sampler/cpython/python.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/threads/os_threads.h"
#include "sampler/process/memory.h"

struct python {
    struct process *process;
    struct runtime runtime;
    struct strtab *strings;
    struct code_table codes;
    struct leaves leaves;
    struct thread_list threads;
    struct tasks tasks;
    struct locks locks;
    struct locals locals;
    struct contexts *contexts;               /* NULL: none is watched */
    struct thread_contexts *thread_contexts; /* NULL: spans are not watched, or have no such */
    struct os_threads os_threads;
    uint64_t names_read_ns, all_named_ns, list_checked_ns;
    uint64_t opcodes_wait_ns,
        opcodes_due_ns; /* of the check whether the table is right; 0: none is due */
    bool list_is_old;
    struct thread *chosen[PYTHON_MAX_THREADS_PER_TICK]; /* to be sampled in this tick */
    size_t chosen_count;
    bool takes_turns; /* of many threads, the next ones are chosen, not a random part */
    size_t turn;
    struct random random;
    struct memory_span spans[MEMORY_MAX_SPANS];
    char version[LAYOUT_VERSION_TEXT];
};

/* When freed code objects have filled the table, or what is known of code was found out without opcodes, clears the
 * table and everything that stores ids of code. */
void python_clear_if_needed(struct python *python, uint64_t now_ns);
/* Updates the list of threads, and their names where those are due. */
MUST_CHECK enum err_code python_refresh_threads(struct python *python, bool only_main,
                                                uint64_t now_ns);

#endif /* SAMPLER_CPYTHON_PYTHON_PARTS_H */
