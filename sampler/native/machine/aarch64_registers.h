/*
 * aarch64_registers - the registers and sizes of 64-bit ARM.  A part of machine.h.
 */
#ifndef SAMPLER_NATIVE_MACHINE_AARCH64_REGISTERS_H
#define SAMPLER_NATIVE_MACHINE_AARCH64_REGISTERS_H

#include <stdint.h>

enum machine_register {
    MACHINE_X19, /* the registers that a function must preserve */
    MACHINE_X20,
    MACHINE_X21,
    MACHINE_X22,
    MACHINE_X23,
    MACHINE_X24,
    MACHINE_X25,
    MACHINE_X26,
    MACHINE_X27,
    MACHINE_X28,
    MACHINE_FP,             /* x29 */
    MACHINE_RETURN_ADDRESS, /* x30: each call changes it */
    MACHINE_SAVED,          /* their number */
    MACHINE_SP = MACHINE_SAVED,
    MACHINE_OUTER_SP, /* no register is it */
    MACHINE_OTHER,    /* of no interest */
};

/* The offset at which a frame saves a register: below its local variables, so it may be far
 * from the CFA. */
typedef int32_t machine_offset;
#define MACHINE_OFFSET_MIN INT32_MIN
#define MACHINE_OFFSET_MAX INT32_MAX

/* The value, for each register that a function must preserve. */
#define MACHINE_FOR_SAVED(value) \
    value, value, value, value, value, value, value, value, value, value, value, value

enum {
    MACHINE_RETURN_BYTES = 0,   /* a call leaves the return address in a register */
    MACHINE_RED_ZONE_BYTES = 0, /* nothing below the stack pointer is in use */
    MACHINE_CODE_ALIGNMENT = 4, /* of instructions */
    MACHINE_CALL_BYTES = 4,
    MACHINE_JUMP_BYTES = 4,
    MACHINE_STUB_BYTES = 16,
    MACHINE_STUB_ALIGNMENT = 4,
    MACHINE_SIGNAL_RETURN_BYTES = 8,
};

#endif /* SAMPLER_NATIVE_MACHINE_AARCH64_REGISTERS_H */
