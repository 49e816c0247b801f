/*
 * bytecode - what stands at an instruction, and how deep the value stack is there.
 *
 * The depth of the value stack is the same each time an instruction is reached, so it can be
 * told from the code alone: from where a function begins, along falls, jumps and the handlers of
 * exceptions.  That tells where in a frame the callable of a call lies, also on versions that
 * do not keep the top of the stack in the frame.
 *
 * The bytes are those of a running program, with specialised instructions and caches, and
 * untrusted: what contradicts itself is unknown.
 *
 * Limits: BYTECODE_MAX_UNITS.
 * Depends on: err, opcodes.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_BYTECODE_H
#define SAMPLER_CPYTHON_OBJECTS_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/opcodes.h"

enum { BYTECODE_MAX_UNITS = 1 << 18, BYTECODE_UNIT_BYTES = 2 };

struct bytecode {
    const struct opcode *opcodes;
    const unsigned char *units; /* an opcode and an argument each */
    uint32_t unit_count;
    const unsigned char *handlers; /* the exception table */
    size_t handler_bytes;
};

struct instruction {
    uint8_t opcode; /* the base */
    uint32_t oparg; /* with what EXTENDED_ARG adds */
    int32_t depth;  /* of the value stack before it */
};

/* The instruction at `unit`.  ERR_NOT_FOUND: none begins there, or its depth cannot be told.
 * ERR_LIMIT: there are too many.  Costs a walk through the whole code. */
MUST_CHECK enum err_code bytecode_position(const struct bytecode *code, uint32_t unit,
                                           struct instruction *out);

/* Where the instruction begins that `unit` is a part of: behind an instruction stands data. */
uint32_t bytecode_start(const struct bytecode *code, uint32_t unit);

#endif /* SAMPLER_CPYTHON_OBJECTS_BYTECODE_H */
