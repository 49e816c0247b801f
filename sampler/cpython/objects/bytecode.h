/*
 * bytecode - decodes an instruction, and computes the depth of the value stack before it.
 *
 * The depth is the same each time an instruction is reached, so the code alone determines it: walk
 * from the start of the function, through jumps and exception handlers.  The depth gives the place of
 * a callable in a frame, also in versions that do not store the top of the stack in the frame.
 *
 * The bytes come from a running program, so they hold specialised instructions and caches.  They are
 * untrusted: where they contradict themselves, the depth is unknown.
 *
 * Limits: BYTECODE_MAX_UNITS.
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
    uint8_t opcode; /* the base form */
    uint32_t oparg; /* EXTENDED_ARG included */
    int32_t depth;  /* of the value stack before it */
};

/* The instruction at `unit`.  ERR_NOT_FOUND: no instruction begins there, or its depth is unknown.
 * ERR_LIMIT: the code is too long.  Walks through all of the code. */
MUST_CHECK enum err_code bytecode_position(const struct bytecode *code, uint32_t unit,
                                           struct instruction *out);

struct with_block {
    uint32_t
        depth; /* of the value stack, up to and with the last value that belongs to the block */
    uint32_t handler; /* the unit that an exception in the block leads to */
};

/* The active `with` blocks of the instruction at `unit`, the innermost one first.  Returns how many, at most `most`. */
size_t bytecode_with_blocks(const struct bytecode *code, uint32_t unit,
                            struct with_block *blocks, size_t most);

/* How deep the value stack gets; -1: unknown. */
int64_t bytecode_deepest(const struct bytecode *code);

/* Is this instruction, a base, in the code? */
bool bytecode_has(const struct bytecode *code, uint8_t opcode);

/* The start of the instruction that `unit` is part of: cache units follow an instruction. */
uint32_t bytecode_start(const struct bytecode *code, uint32_t unit);

#endif /* SAMPLER_CPYTHON_OBJECTS_BYTECODE_H */
