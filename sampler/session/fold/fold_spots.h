/*
 * fold_spots - the spots of a stack: instruction and columns of its innermost frame, and of each caller.
 *
 * Private to fold.
 */
#ifndef SAMPLER_SESSION_FOLD_FOLD_SPOTS_H
#define SAMPLER_SESSION_FOLD_FOLD_SPOTS_H

#include "sampler/session/fold/fold.h"

/* Tags of a frame: its node and its spot, plus 1. */
enum { FOLD_NODE, FOLD_SPOT };

/* How many of the `count` outermost frames need no tag of this kind: those up to the innermost one that has it.  *tag:
 * that tag; 0: none has it. */
size_t fold_tagged_frames(const struct stack *stack, size_t count, unsigned which,
                          uint32_t *tag);

MUST_CHECK enum err_code fold_function(struct fold *fold, struct code *code, function_id *out);
/* Stores the spot of the innermost frame, and its node, in the tags of the leaf. */
MUST_CHECK enum err_code fold_set_spot(struct fold *fold, struct thread *thread, node_id node);

#endif /* SAMPLER_SESSION_FOLD_FOLD_SPOTS_H */
