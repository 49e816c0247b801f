/*
 * python_parts - shared by the files of python: python.c has the interpreter and its threads, python_sample.c
 * reads their stacks.
 */
#ifndef SAMPLER_CPYTHON_PYTHON_PARTS_H
#define SAMPLER_CPYTHON_PYTHON_PARTS_H

#include "sampler/base/random.h"
#include "sampler/cpython/python.h"
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
    struct contexts *contexts;               /* NULL: none is watched */
    struct thread_contexts *thread_contexts; /* NULL: spans are not watched, or have no such */
    struct os_threads os_threads;
    uint64_t names_read_ns, all_named_ns, list_checked_ns;
    uint64_t opcodes_wait_ns,
        opcodes_due_ns; /* of the check whether the table is right; 0: none is due */
    bool list_is_old;
    struct thread *chosen[PYTHON_MAX_THREADS_PER_TICK]; /* to be sampled in this tick */
    size_t chosen_count;
    struct random random;
    struct memory_span spans[MEMORY_MAX_SPANS];
    char version[LAYOUT_VERSION_TEXT];
};

#endif /* SAMPLER_CPYTHON_PYTHON_PARTS_H */
