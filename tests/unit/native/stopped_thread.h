/*
 * stopped_thread - starts a program that prints the id of its busy thread, stops that thread again and
 * again, and copies its registers and its C stack.
 *
 * Ownership: stopped_thread_start starts the program, stopped_thread_end kills it.
 * Threads: all calls from one thread, as ptrace demands.
 * Limits: STOPPED_MAX_BYTES bytes of a stack.
 */
#ifndef TESTS_UNIT_NATIVE_STOPPED_THREAD_H
#define TESTS_UNIT_NATIVE_STOPPED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/native/unwind.h"
#include "sampler/process/memory.h"

enum { STOPPED_MAX_BYTES = 1 << 20 };

struct stopped_thread {
    int pid, tid;
    int output_fd;
    struct process_memory memory;
    struct native_registers registers;
    struct native_stack stack;
    unsigned char *bytes;
};

/* false: the kernel refuses ptrace. */
bool stopped_thread_start(struct stopped_thread *thread, char *const argv[]);
void stopped_thread_end(struct stopped_thread *thread);

/* Stops the thread after so long, and copies its state.  It stands still until the next call. */
void stopped_thread_stop(struct stopped_thread *thread, unsigned after_us);
void stopped_thread_resume(const struct stopped_thread *thread);

#endif /* TESTS_UNIT_NATIVE_STOPPED_THREAD_H */
