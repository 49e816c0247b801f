/*
 * leaf - what the innermost frame of a stack is at: its instruction, and the C function it calls;
 * and the instructions that the other frames wait at.
 *
 * Nothing in a frame says that C code runs.  But while a C function runs, the frame that called
 * it is the innermost one, stands at an instruction that calls, and has the callable in its value
 * stack: at a depth that the code tells (bytecode.h).  From 3.14 on the frame also keeps the top
 * of its stack from before it calls; it must be the one that the code tells.
 *
 * A frame is read over some time, and the instruction may be an instant older than the value
 * stack.  So the pair of an instruction and a callee is believed once both readings of a stack
 * have shown it; before that the call is known as one to C and has no name.
 *
 * Ownership: the caller's storage; leaves_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: LEAF_MAX_PLACES instructions and LEAF_MAX_PAIRS pairs; over them nothing is told.
 * Depends on: base, memory, code, stack, opcodes, bytecode, callee.
 */
#ifndef SAMPLER_CPYTHON_STACK_LEAF_H
#define SAMPLER_CPYTHON_STACK_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/objects/bytecode.h"
#include "sampler/cpython/objects/callee.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/opcodes.h"
#include "sampler/cpython/stack/call_edges.h"
#include "sampler/cpython/stack/stack.h"

enum {
    LEAF_MAX_PLACES = 1 << 22,
    LEAF_MAX_PAIRS = CALL_EDGES_MAX,
    LEAF_OPCODE_USES = 64, /* an instruction is looked at again after so many uses */
    LEAF_NO_OPCODE = -1,
};

struct leaf {
    enum three_valued in_native; /* is a C function called? */
    str_id callee;               /* see callee.h; 0: no name */
    int opcode;                  /* the form the instruction had, LEAF_NO_OPCODE: unknown */
    uint32_t tags[2];            /* for the caller; 0 after a look */
};

struct leaves {
    struct memory *memory;
    const struct layout *layout;
    struct code_table *codes;
    const struct opcode *opcodes; /* NULL: the version has no table and nothing can be told */
    bool wants_opcodes;           /* the form of an instruction at each look */
    int call, precall, call_kw, call_function_ex; /* opcodes, -1: not in this version */
    struct callee_table callees;
    struct pool places;      /* of struct leaf_place */
    struct call_edges pairs; /* of a place and a callee's name */
    struct object_bytes units, handlers;
};

void leaves_init(struct leaves *leaves, struct memory *memory, const struct layout *layout,
                 struct code_table *codes, struct strtab *strings);
void leaves_deinit(struct leaves *leaves);
/* Forgets everything; needed when the code objects have been. */
void leaves_clear(struct leaves *leaves);

/* For a stack that has just been read and is not unchanged.  ERR_NOMEM, or ERR_OK; what cannot
 * be told is unknown. */
MUST_CHECK enum err_code leaf_read(struct leaves *leaves, const struct stack *stack,
                                   struct leaf *out);

/* The form of the instruction that a frame waits at for what it has called, or LEAF_NO_OPCODE. */
MUST_CHECK enum err_code leaf_waiting_opcode(struct leaves *leaves,
                                             const struct walk_frame *frame, int *out);

#endif /* SAMPLER_CPYTHON_STACK_LEAF_H */
