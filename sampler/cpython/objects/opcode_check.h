/*
 * opcode_check - does a table of opcodes describe the instructions of an interpreter?
 *
 * A version may number its instructions differently.  So functions of the standard library are read from an
 * interpreter whose version has no table of its own, and decoded with the table: their value stacks
 * must get as deep as their code objects say, and known functions must have the instructions that
 * their source makes the compiler write.  Another table fails at nearly every function.
 *
 * Limits: one read of each of two dozen functions.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_OPCODE_CHECK_H
#define SAMPLER_CPYTHON_OBJECTS_OPCODE_CHECK_H

#include "sampler/base/three_valued.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/opcodes.h"

/* VALUE_UNKNOWN: the interpreter has not imported enough to see it. */
enum three_valued opcode_check(struct code_table *codes, remote_addr interp,
                               const struct opcode *opcodes);

#endif /* SAMPLER_CPYTHON_OBJECTS_OPCODE_CHECK_H */
