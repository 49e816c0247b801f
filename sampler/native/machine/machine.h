/*
 * machine - what native stacks need to know of the processor: its registers, its signal frames, its
 * code.
 *
 * All that depends on the processor is in this folder: for each of them a header that names the registers
 * and has the sizes, and a file that knows the code.  registers.c reads the registers of a thread.  A build
 * knows one processor: its own, or for tests the one that MACHINE_X86_64 or MACHINE_AARCH64 names.  On any
 * other it compiles, and machine_is_supported is false.
 *
 * Threads: any.
 */
#ifndef SAMPLER_NATIVE_MACHINE_MACHINE_H
#define SAMPLER_NATIVE_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/memory.h"

#if !defined MACHINE_X86_64 && !defined MACHINE_AARCH64
#ifdef __aarch64__
#define MACHINE_AARCH64
#else
#define MACHINE_X86_64
#endif
#endif
#ifdef MACHINE_AARCH64
#include "sampler/native/machine/aarch64_registers.h"
#else
#include "sampler/native/machine/x86_64_registers.h"
#endif

struct native_registers {
    remote_addr ip, sp;
    uint64_t outer_sp;
    uint64_t saved[MACHINE_SAVED];
    bool has_only_sp; /* of a thread that waits in a system call: the others are unknown */
};

/* Places of registers in the frame that the kernel makes when it calls a signal handler: bytes
 * above the stack pointer that the handler returns with. outer_sp 0: no register is it. */
struct machine_signal_frame {
    int16_t ip, sp, outer_sp, saved[MACHINE_SAVED];
};

extern const struct machine_signal_frame machine_signal_frame;

bool machine_is_supported(void);

/* `number`: as unwinding tables number registers. */
enum machine_register machine_register_of(uint64_t number);

/* The address in a word that a program keeps as a return address: it may be signed. */
remote_addr machine_address(uint64_t word);

/* Is it an instruction of unwinding tables, of this processor alone, that has no operand and says nothing about where
 * registers are? */
bool machine_ignores(unsigned instruction);

/* Do these bytes, which end at a return address, end with a call instruction? */
bool machine_ends_with_call(const unsigned char code[MACHINE_CALL_BYTES]);

/* The function that such a call calls, by the code alone; 0: only a register or memory knows.  `addr`:
 * the return address. */
remote_addr machine_called(const unsigned char code[MACHINE_CALL_BYTES], remote_addr addr);

/* The target of the jump at `addr`, by the code alone; 0: the code is no such jump. */
remote_addr machine_jumped(const unsigned char code[MACHINE_JUMP_BYTES], remote_addr addr);

/* How many of these bytes, which begin with a function, are surely of it: all, or those up to the last return before the
 * first system call that has one before it.  Another function may begin there. */
size_t machine_own_bytes(const unsigned char *code, size_t bytes);

/* The address of the word through which the stub at `addr` jumps; 0: the code is no such stub. */
remote_addr machine_stub_slot(const unsigned char code[MACHINE_STUB_BYTES], remote_addr addr);

/* Are these bytes the function that a signal handler returns to? */
bool machine_is_signal_return(const unsigned char code[MACHINE_SIGNAL_RETURN_BYTES]);

/* The expression for the frame of a stub of the procedure linkage table.  Such a stub is 16 bytes long;
 * *pushed_from_out is the offset in it from which on it has pushed a word. */
bool machine_is_stub_expression(const unsigned char *expression, size_t bytes,
                                int32_t *pushed_from_out);

/* The registers of a thread that this thread has stopped with ptrace, and its thread pointer.
 * ERR_UNSUPPORTED: another processor, or a thread that runs 32-bit code. */
MUST_CHECK enum err_code machine_read_registers(int32_t tid, struct native_registers *out,
                                                remote_addr *thread_pointer_out);

/* As machine_read_registers, of registers that were stored as ptrace has them (PTRACE_GETREGSET of NT_PRSTATUS), at least as many bytes. thread_pointer:
 * used where it is not among them. */
MUST_CHECK enum err_code machine_take_registers(const void *words, uint64_t thread_pointer,
                                                struct native_registers *out,
                                                remote_addr *thread_pointer_out);

#endif /* SAMPLER_NATIVE_MACHINE_MACHINE_H */
