/*
 * sample_stack - the frames of a sample from the outermost one on, and the nodes that they are.
 *
 * Samples that follow one another mostly have the same outer frames, whose nodes are known then.
 *
 * Ownership: the caller's storage; sample_stack_deinit accepts a zeroed one, and a zeroed one is empty.
 * Limits: GATHER_MAX_DEPTH.
 */
#ifndef SAMPLER_FOREIGN_SAMPLE_STACK_H
#define SAMPLER_FOREIGN_SAMPLE_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"

struct sample_stack {
    struct sample_stack_place {
        frame_id frame;
        node_id node;
    } * places;
    size_t depth, room;
};

void sample_stack_deinit(struct sample_stack *stack);
/* The frame at a depth is that one; a deeper one was put there before, and is gone if it was another.  depth: at most that of the
 * stack. */
MUST_CHECK enum err_code sample_stack_put(struct sample_stack *stack, struct gather *gather,
                                          size_t depth, frame_id frame, struct err *err);
/* Keeps the outermost frames. */
void sample_stack_cut(struct sample_stack *stack, size_t depth);
/* The node of the innermost frame; 0: there is none. */
node_id sample_stack_node(const struct sample_stack *stack);
static inline frame_id sample_stack_frame(const struct sample_stack *stack, size_t depth)
{
    return stack->places[depth].frame;
}

#endif /* SAMPLER_FOREIGN_SAMPLE_STACK_H */
