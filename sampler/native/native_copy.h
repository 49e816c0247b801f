/*
 * native_copy - what native frames are found from: the registers of a thread and its C stack, copied at one
 * instant.
 *
 * Both sampling engines make it: the kernel engine where the thread runs or leaves its processor,
 * native_copy_read of a thread that has been stopped, native_copy_read_waiting of one that waits.  The
 * copy begins MACHINE_RED_ZONE_BYTES below the stack pointer and ends at the base of the stack.  A stack
 * that is too large is cut: then the copy lacks its middle, see record.h.  Of a stopped thread, it has up
 * to NATIVE_COPY_BYTES, or NATIVE_COPY_PART_BYTES at each end.
 *
 * Ownership: borrows the copied bytes.
 * Threads: native_copy_read from the thread that has stopped the other one, as ptrace demands.
 */
#ifndef SAMPLER_NATIVE_NATIVE_COPY_H
#define SAMPLER_NATIVE_NATIVE_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/machine/machine.h"
#include "sampler/native/unwind.h"
#include "sampler/process/memory.h"
#include "sampler/process/system_call.h"

enum { NATIVE_COPY_BYTES = 1 << 19, NATIVE_COPY_PART_BYTES = 1 << 15 };

struct native_copy {
    struct native_registers registers;
    struct native_stack stack;
    bool is_cut;     /* the stack is larger; its middle is missing */
    bool is_faulted; /* some memory was not there */
};

/* Copies the state of a thread that this thread has stopped into *out and `bytes`.  stack_start: where the
 * stack of the process's first thread begins (procfs_identify); 0: unknown.  ERR_UNSUPPORTED: another
 * machine, or a thread that runs 32-bit code.  Memory that is not there is no error. */
MUST_CHECK enum err_code native_copy_read(struct memory *memory, int32_t tid,
                                          remote_addr stack_start,
                                          unsigned char bytes[NATIVE_COPY_BYTES],
                                          struct native_copy *out);

/* As native_copy_read, of a thread whose registers are known. descriptor: what its thread pointer points to. */
MUST_CHECK enum err_code native_copy_read_known(struct memory *memory,
                                                const struct native_registers *registers,
                                                remote_addr descriptor, remote_addr stack_start,
                                                unsigned char bytes[NATIVE_COPY_BYTES],
                                                struct native_copy *out);

/* Reads a thread that waits in a system call, without stopping it: only its stack pointer and
 * where it is are known, and nothing shows here whether it has moved. stack_start: 0 of other
 * threads than the first. */
MUST_CHECK enum err_code native_copy_read_waiting(struct memory *memory,
                                                  const struct system_call *call,
                                                  remote_addr stack_start,
                                                  unsigned char bytes[NATIVE_COPY_BYTES],
                                                  struct native_copy *out);

#endif /* SAMPLER_NATIVE_NATIVE_COPY_H */
