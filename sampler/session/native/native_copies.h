/*
 * native_copies - the native stacks of threads that are stopped at the same time, or of one that waits.
 *
 * Room is made before the threads are stopped, so that each stop is short.
 *
 * Ownership: the caller's storage; native_copies_deinit accepts a zeroed one.  A copy is good until
 * native_copies_begin.
 * Threads: the one that stops threads.
 * Limits: of each stack, what native_copy_read copies.
 */
#ifndef SAMPLER_SESSION_NATIVE_NATIVE_COPIES_H
#define SAMPLER_SESSION_NATIVE_NATIVE_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

struct native_copy;
struct native_registers;
struct native_slot;
struct system_call;

struct native_copies {
    struct native_slot **slots;
    size_t made, room; /* slots */
    size_t count;      /* those in use */
};

void native_copies_deinit(struct native_copies *copies);
/* Forgets all copies and makes room for `count`. */
MUST_CHECK enum err_code native_copies_begin(struct native_copies *copies, size_t count);
/* Copies the native stack of a stopped thread, see native_copy_read; NULL: it cannot be copied. */
const struct native_copy *native_copies_read(struct native_copies *copies,
                                             struct memory *memory, int32_t tid,
                                             remote_addr stack_start);
/* As native_copies_read, of a thread whose registers are known, see native_copy_read_known. */
const struct native_copy *native_copies_read_known(struct native_copies *copies,
                                                   struct memory *memory,
                                                   const struct native_registers *registers,
                                                   remote_addr descriptor,
                                                   remote_addr stack_start);

/* Forgets all copies, and copies the stack of a thread that waits, see native_copy_read_waiting. */
const struct native_copy *native_copies_read_waiting(struct native_copies *copies,
                                                     struct memory *memory,
                                                     const struct system_call *call,
                                                     remote_addr stack_start);

#endif /* SAMPLER_SESSION_NATIVE_NATIVE_COPIES_H */
