#include "sampler/foreign/sample_stack.h"

#include <stdlib.h>

#include "sampler/base/vec.h"

void sample_stack_deinit(struct sample_stack *stack)
{
    free(stack->places);
    *stack = (struct sample_stack){ .depth = 0 };
}

enum err_code sample_stack_put(struct sample_stack *stack, struct gather *gather, size_t depth,
                               frame_id frame, struct err *err)
{
    if (depth < stack->depth && stack->places[depth].frame == frame)
        return ERR_OK;
    if (depth >= GATHER_MAX_DEPTH)
        return err_set(err, ERR_LIMIT, "a stack has more than %d frames", GATHER_MAX_DEPTH);
    if (!VEC_RESERVE(stack->places, stack->room, depth + 1))
        return err_nomem(err);
    struct sample_stack_place *const place = &stack->places[depth];
    stack->depth = depth + 1;
    place->frame = frame;
    return gather_child(gather, depth > 0 ? place[-1].node : 0, frame, &place->node, err);
}

void sample_stack_cut(struct sample_stack *stack, size_t depth)
{
    if (depth < stack->depth)
        stack->depth = depth;
}

node_id sample_stack_node(const struct sample_stack *stack)
{
    return stack->depth > 0 ? stack->places[stack->depth - 1].node : 0;
}
