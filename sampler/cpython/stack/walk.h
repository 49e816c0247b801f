/*
 * walk - from the frame that ran to the outermost one, through the bytes of reading A.
 *
 * The thread state said which frame ran; that is where the stack ends, and every frame says which
 * one it was called by.  The frames were read an instant later.  In between the innermost ones
 * may have returned, and others may have been put in their places:
 *   3.14 and later: a popped frame's executable is cleared, but its instruction stays, and tells
 *   the code object;
 *   3.11 to 3.13: nothing marks a popped frame, it stays as it was; a caller that has not saved its
 *   value stack runs again, so what it called has returned.
 * A generator's link to its caller is cleared when it yields; it is remembered.
 *
 * As far as the bytes are as they were in the walk before, its frames are taken over.
 *
 * Depends on: copy, code, links, slots.
 */
#ifndef SAMPLER_CPYTHON_STACK_WALK_H
#define SAMPLER_CPYTHON_STACK_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/frame_history.h"

struct walk_frame {
    remote_addr addr;
    remote_addr instr; /* being executed */
    uint64_t place; /* in the chunks; of a loose frame that of the next frame outwards in one */
    code_id code;
    /* For the caller; kept while this frame and all outer ones stay as they are. */
    uint32_t tags[2];
    bool is_off_chunk;
    bool entered_from_c;
    bool is_waiting;   /* for what it has called */
    bool has_returned; /* when it was read, an instant after it ran */
};

/* Outermost first. */
struct walk {
    struct walk_frame *frames;
    size_t count, room;
    struct walk_frame *inner; /* found in this walk, innermost first */
    size_t inner_count, inner_room;
    size_t kept;       /* leading frames taken over from the walk before: same bytes */
    size_t same;       /* leading frames that are as they were in the walk before */
    size_t same_codes; /* leading frames with the code they had in the walk before */
    struct slot leaf;  /* the innermost frame at the moment of the reading; addr 0: unknown */
    bool leaf_is_sure; /* all that might lie above it has been copied */
    bool loaded;       /* code objects were read on the way: walk a fresh reading */
    bool is_broken;    /* something between its frames and the one that ran could not be read */
};

void walk_deinit(struct walk *walk);

/* What is known from before. */
struct walk_context {
    struct code_table *codes;
    const struct call_edges *links;
    const struct frame_history *slots;   /* what has lain where */
    const struct frame_history *runners; /* what has run there, with nothing called */
};

/* From the frame at `running`, 0: there is none.  Where the way is lost, what is known of the
 * outer frames is left and is_broken is set.  ERR_CORRUPT: what was copied cannot be a stack. */
MUST_CHECK enum err_code walk_reading(struct walk *walk, struct copy *copy, remote_addr running,
                                      const struct walk_context *context);

/* From the top of the stack, where it is not known which frame runs: the innermost frame in the
 * chunks (3.11 and 3.12). */
MUST_CHECK enum err_code walk_from_top(struct walk *walk, struct copy *copy,
                                       const struct walk_context *context);

#endif /* SAMPLER_CPYTHON_STACK_WALK_H */
