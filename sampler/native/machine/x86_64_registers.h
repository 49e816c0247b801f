/*
 * x86_64_registers - the registers and sizes of x86-64.  A part of machine.h.
 */
#ifndef SAMPLER_NATIVE_MACHINE_X86_64_REGISTERS_H
#define SAMPLER_NATIVE_MACHINE_X86_64_REGISTERS_H

#include <stdint.h>

enum machine_register {
    MACHINE_BX, /* the registers that a function must preserve */
    MACHINE_FP, /* bp */
    MACHINE_R12,
    MACHINE_R13,
    MACHINE_R14,
    MACHINE_R15,
    MACHINE_SAVED, /* their number */
    MACHINE_SP = MACHINE_SAVED,
    MACHINE_OUTER_SP, /* r10 holds the caller's stack pointer while a function aligns its stack */
    MACHINE_RETURN_ADDRESS,
    MACHINE_OTHER, /* of no interest */
};

/* The offset at which a frame saves a register: above its local variables. */
typedef int16_t machine_offset;
#define MACHINE_OFFSET_MIN INT16_MIN
#define MACHINE_OFFSET_MAX INT16_MAX

/* The value, for each register that a function must preserve. */
#define MACHINE_FOR_SAVED(value) value, value, value, value, value, value

enum {
    MACHINE_RETURN_BYTES = 8,     /* a call pushes the return address */
    MACHINE_RED_ZONE_BYTES = 128, /* a function may use them without moving its stack pointer */
    MACHINE_CODE_ALIGNMENT = 1,   /* of instructions */
    MACHINE_CALL_BYTES = 7,
    MACHINE_JUMP_BYTES = 5,
    MACHINE_STUB_BYTES = 16,
    MACHINE_STUB_ALIGNMENT = 16,
    MACHINE_SIGNAL_RETURN_BYTES = 9,
};

#endif /* SAMPLER_NATIVE_MACHINE_X86_64_REGISTERS_H */
