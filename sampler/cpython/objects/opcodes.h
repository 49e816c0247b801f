/*
 * opcodes - the instructions of CPython's bytecode: names, forms, sizes, effects on the stack.
 *
 * The code of a running program holds specialised forms of instructions: each has a base, the
 * instruction the compiler wrote.  The tables are generated from the interpreters themselves
 * (scripts/opcodes); the numbers are part of a minor version.
 *
 * Depends on: libc.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_OPCODES_H
#define SAMPLER_CPYTHON_OBJECTS_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPCODES = 256 };

enum opcode_flags {
    OPCODE_JUMPS = 1,      /* forward by its argument */
    OPCODE_JUMPS_BACK = 2, /* backward by its argument */
    OPCODE_ENDS = 4,       /* the next instruction is not reached from here */
    OPCODE_RUNS_SLOTS = 8, /* runs whatever C code the type of an operand has */
};

/* Change of the depth of the value stack: base + slope * oparg + those of bits whose bit is set
 * in the low four of oparg + high * (oparg >> 8). */
struct opcode_effect {
    int8_t base, slope;
    int8_t bits[4];
    int16_t high;
    bool unknown;
};

struct opcode {
    const char *name;            /* NULL: there is no such instruction */
    uint8_t base;                /* number of the instruction this is a form of, or its own */
    uint8_t caches;              /* code units behind it that are data */
    uint8_t flags;               /* of the form; jumps and ends are told of bases only */
    int8_t jump_effect;          /* added to the effect when it jumps */
    struct opcode_effect effect; /* of bases only */
};

/* OPCODES rows; NULL: an unknown minor. */
const struct opcode *opcodes_of(uint32_t version);

/* The number of the instruction of this name, -1: there is none. */
int opcodes_find(const struct opcode *opcodes, const char *name);

int64_t opcode_effect(const struct opcode *opcode, uint32_t oparg);

#endif /* SAMPLER_CPYTHON_OBJECTS_OPCODES_H */
