/*
 * heap_stack - stack.h for CPython 3.8 to 3.10, where frames are in the heap.
 *
 * stack.c calls these functions; their contract is that of stack.h.
 *
 * Depends on: stack, heap_frames, code.
 */
#ifndef SAMPLER_CPYTHON_STACK_HEAP_STACK_H
#define SAMPLER_CPYTHON_STACK_HEAP_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/stack.h"

/* Are the stack's frames in the heap? */
static inline bool heap_stack_is(const struct stack *stack)
{
    return stack->copy.layout->has_heap_frames;
}

MUST_CHECK enum err_code heap_stack_read(struct stack *stack, struct code_table *codes);
MUST_CHECK enum err_code heap_stack_finish(struct stack *stack, struct code_table *codes,
                                           const struct memory_span *spans, size_t count,
                                           size_t arrived);

#endif /* SAMPLER_CPYTHON_STACK_HEAP_STACK_H */
