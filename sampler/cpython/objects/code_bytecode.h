/*
 * code_bytecode - reads the instructions and the exception table of a code object.
 *
 * Both are untrusted.
 *
 * Limits: BYTECODE_MAX_UNITS, OBJECT_MAX_BYTES.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_CODE_BYTECODE_H
#define SAMPLER_CPYTHON_OBJECTS_CODE_BYTECODE_H

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/bytecode.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/memory.h"

/* The bytes that were read last, for the next reading. */
struct code_bytecode {
    struct object_bytes units, handlers;
};

void code_bytecode_deinit(struct code_bytecode *room);

/* *out is valid until the next reading.  Without handlers only bytecode_start may be asked. */
MUST_CHECK enum err_code code_bytecode_read(struct memory *memory, const struct layout *layout,
                                            const struct code *code,
                                            const struct opcode *opcodes, bool with_handlers,
                                            struct code_bytecode *room, struct bytecode *out);

#endif /* SAMPLER_CPYTHON_OBJECTS_CODE_BYTECODE_H */
