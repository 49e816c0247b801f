/*
 * leaf - the instruction of a stack's innermost frame, and the C function that it calls; and the
 * instructions at which the other frames wait.
 *
 * No frame says that C code runs.  But while a C function runs, its caller is the innermost frame, is
 * at a call instruction, and has the callable in its value stack, at a depth that follows from the
 * code (bytecode.h).  From 3.14 on, the frame also stores the top of its stack before a call; it must
 * match the code.
 *
 * Reading a frame takes time, so the instruction may be older than the value stack.  Therefore a pair
 * of an instruction and a callee is accepted only after another reading has shown it.  Before that, the call is
 * known to be one to C, but has no name.
 *
 * Ownership: the caller's storage; leaves_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: LEAF_MAX_PLACES instructions and LEAF_MAX_PAIRS pairs; beyond them the leaf is unknown.
 */
#ifndef SAMPLER_CPYTHON_STACK_LEAF_H
#define SAMPLER_CPYTHON_STACK_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/base/pool.h"
#include "sampler/base/strtab.h"
#include "sampler/base/three_valued.h"
#include "sampler/cpython/objects/callee.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/code_bytecode.h"
#include "sampler/cpython/objects/opcodes.h"
#include "sampler/cpython/stack/stack.h"

enum {
    LEAF_MAX_PLACES = 1 << 22,
    LEAF_MAX_PAIRS = 1 << 22,
    LEAF_OPCODE_USES = 64, /* an instruction is read again after this many uses */
    LEAF_NO_OPCODE = -1,
};

struct leaf {
    enum three_valued in_native; /* is a C function called? */
    str_id callee;               /* see callee.h; 0: no name */
    remote_addr code;            /* of the callee; 0: unknown */
    int opcode;                  /* the form of the instruction; LEAF_NO_OPCODE: unknown */
    bool
        is_unsettled; /* a later copy, even of the same stack, may show the name of the callee */
    uint32_t tags[2]; /* for the caller; leaf_read sets them to 0 */
};

struct leaves {
    struct memory *memory;
    const struct layout *layout;
    struct code_table *codes;
    const struct opcode *opcodes; /* NULL: no table for this version, so leaves are unknown */
    bool wants_opcodes;           /* read the form of the instruction each time */
    int call, precall, call_kw, call_function_ex; /* opcodes; -1: not in this version */
    struct callee_table callees;
    struct pool places; /* of struct leaf_place */
    struct pool pairs;  /* of struct leaf_pair */
    struct idmap pair_index;
    struct code_bytecode room;
};

/* The values that a call instruction finds on the value stack. */
struct leaf_call {
    int32_t depth; /* of the stack, arguments included */
    int32_t
        values; /* the last so many are the callable, what it is bound to, and the arguments */
};

void leaves_init(struct leaves *leaves, struct memory *memory, const struct layout *layout,
                 struct code_table *codes, struct strtab *strings);
void leaves_deinit(struct leaves *leaves);
/* Forgets everything; needed when the code table has been cleared. */
void leaves_clear(struct leaves *leaves);

/* false: the instruction is no call. */
bool leaf_measure_call(const struct leaves *leaves, const struct instruction *at,
                       struct leaf_call *out);

/* For a stack that has just been read and has changed.  Returns ERR_NOMEM or ERR_OK; what cannot be
 * read is unknown. */
MUST_CHECK enum err_code leaf_read(struct leaves *leaves, const struct stack *stack,
                                   struct leaf *out);

/* The form of the call instruction at which a frame waits, or LEAF_NO_OPCODE. */
MUST_CHECK enum err_code leaf_waiting_opcode(struct leaves *leaves,
                                             const struct walk_frame *frame, int *out);

#endif /* SAMPLER_CPYTHON_STACK_LEAF_H */
