/*
 * heap_stack - stack.h for CPython 3.8 to 3.10, where frames lie in the heap.
 *
 * stack.c hands over to these; they promise what stack.h does.
 *
 * Depends on: stack, heap_frames, code, links.
 */
#ifndef SAMPLER_CPYTHON_STACK_HEAP_STACK_H
#define SAMPLER_CPYTHON_STACK_HEAP_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"
#include "sampler/cpython/stack/stack.h"

/* Do stacks of this layout lie in the heap? */
static inline bool heap_stack_is(const struct stack *stack)
{
    return stack->copy.layout->frame_lasti != 0;
}

MUST_CHECK enum err_code heap_stack_read(struct stack *stack, struct code_table *codes,
                                         struct call_edges *links);
MUST_CHECK enum err_code heap_stack_finish(struct stack *stack, struct code_table *codes,
                                           struct call_edges *links,
                                           const struct memory_span *spans, size_t count,
                                           size_t arrived);

#endif /* SAMPLER_CPYTHON_STACK_HEAP_STACK_H */
