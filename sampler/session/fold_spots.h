/*
 * fold_spots - the spots of a stack: instruction and columns of its innermost frame, and of each caller.
 *
 * Private to fold.
 *
 * Depends on: fold.
 */
#ifndef SAMPLER_SESSION_FOLD_SPOTS_H
#define SAMPLER_SESSION_FOLD_SPOTS_H

#include "sampler/session/fold.h"

/* Tags of a frame: its node and its spot, plus 1. */
enum { FOLD_NODE, FOLD_SPOT };

MUST_CHECK enum err_code fold_function(struct fold *fold, struct code *code, function_id *out);
/* Stores the spot of the innermost frame, and its node, in the tags of the leaf. */
MUST_CHECK enum err_code fold_set_spot(struct fold *fold, struct thread *thread, node_id node);

#endif /* SAMPLER_SESSION_FOLD_SPOTS_H */
