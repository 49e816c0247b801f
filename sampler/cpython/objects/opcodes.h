/*
 * opcodes - the names, forms, sizes and stack effects of CPython's bytecode instructions.
 *
 * The code of a running program holds specialised forms of instructions.  The base of a form is the
 * instruction that the compiler wrote.  scripts/opcodes generates the tables from the interpreters;
 * opcode numbers are fixed for a minor version.
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
    OPCODE_ENDS = 4,       /* execution does not continue with the next instruction */
    OPCODE_RUNS_SLOTS = 8, /* runs a C slot of the operand's type */
};

/* The change of the value stack's depth: base + slope * oparg + high * (oparg >> 8), plus bits[i] for each
 * bit i that is set in the low four bits of oparg. */
struct opcode_effect {
    int8_t base, slope;
    int8_t bits[4];
    int16_t high;
    bool unknown;
};

struct opcode {
    const char *name;            /* NULL: no such instruction */
    uint8_t base;                /* number of the base; its own number if it is one */
    uint8_t caches;              /* cache units after it */
    uint8_t flags;               /* jumps and ends are set for bases only */
    int8_t jump_effect;          /* added to the effect when it jumps */
    struct opcode_effect effect; /* set for bases only */
};

/* OPCODES rows: the table of the minor, or the newest one for a newer minor (see opcode_check.h).  NULL: an older
 * minor. */
const struct opcode *opcodes_of(uint32_t version);

/* The number of the instruction with this name; -1: none. */
int opcodes_find(const struct opcode *opcodes, const char *name);

int64_t opcode_effect(const struct opcode *opcode, uint32_t oparg);

#endif /* SAMPLER_CPYTHON_OBJECTS_OPCODES_H */
