/*
 * frame_nodes - the nodes of the call tree that the Python frames of a process become, and the spots that they are at.
 *
 * Functions and frames of a code object are interned once; the tags of the code object keep their
 * ids.  Marks are frames of file "~".  A spot is the instruction and the columns of a frame, and the spot that it was
 * called from.
 *
 * Ownership: the caller's storage; holds nothing.
 * Threads: the profile's writer.
 */
#ifndef SAMPLER_SESSION_FOLD_FRAME_NODES_H
#define SAMPLER_SESSION_FOLD_FRAME_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/stack/leaf.h"
#include "sampler/cpython/stack/stack.h"
#include "sampler/profile/profile.h"
#include "sampler/session.h"

struct origins;

struct frame_nodes {
    struct profile *profile;
    struct leaves *leaves;
    struct code_table *codes;
    int pid;
    process_id process;
    str_id no_file;                         /* of marks */
    str_id opcode_names[OPCODES];           /* 0: not interned yet */
    bool native, opcodes;                   /* of the options */
    frame_id idle, truncated, gc, callback; /* marks */
    struct origins *origins;                /* of the session; NULL: functions have none */
    profile_origin origin;                  /* of the process */
};

/* `pid` and `name` are those of the process.  Borrows everything. */
MUST_CHECK enum err_code frame_nodes_init(struct frame_nodes *nodes, struct profile *profile,
                                          struct leaves *leaves,
                                          const struct session_options *options, int pid,
                                          const char *name, struct err *err);

/* The frame of a mark. */
MUST_CHECK enum err_code frame_nodes_named_mark(struct frame_nodes *nodes, str_id name,
                                                frame_id *out, struct err *err);
MUST_CHECK enum err_code frame_nodes_mark(struct frame_nodes *nodes, const char *name,
                                          frame_id *out, struct err *err);
/* From now on marks show where C code called back into Python, as with options.native. */
MUST_CHECK enum err_code frame_nodes_mark_native(struct frame_nodes *nodes, struct err *err);

/* *node: in: the node of the caller; out: that of the mark, or of the frame.  ERR_LIMIT: the profile is full. */
MUST_CHECK enum err_code frame_nodes_add_mark(struct frame_nodes *nodes, frame_id mark,
                                              node_id *node);
MUST_CHECK enum err_code frame_nodes_add(struct frame_nodes *nodes,
                                         const struct walk_frame *frame, bool is_outermost,
                                         node_id *node);
/* Adds the frames of a stack from the first one on, and the mark of the garbage collector above the `gc` outermost ones.
 * Frames keep their nodes while they and their callers stay the same. */
MUST_CHECK enum err_code frame_nodes_add_stack(struct frame_nodes *nodes, struct stack *stack,
                                               size_t first, size_t gc, node_id *node);
/* Stores the spot of the innermost frame, and its node, in the tags of the leaf. */
MUST_CHECK enum err_code frame_nodes_set_spot(struct frame_nodes *nodes, struct stack *stack,
                                              struct leaf *leaf, node_id node);

#endif /* SAMPLER_SESSION_FOLD_FRAME_NODES_H */
