/*
 * stack_parts - what stacks of both kinds do: those in chunks (stack.c) and those in the heap
 * (heap_stack.c).
 *
 * Private to stack.
 *
 * Depends on: stack.
 */
#ifndef SAMPLER_CPYTHON_STACK_STACK_PARTS_H
#define SAMPLER_CPYTHON_STACK_STACK_PARTS_H

#include "sampler/cpython/stack/stack.h"

/* Are the code objects of the frames from `from` on still what they were read as?  The epoch is
 * the caller's to begin. */
bool stack_check_codes(const struct stack *stack, struct code_table *codes, size_t from);
/* Takes off what lies above a frame whose code has changed hands: it is nobody's. */
void stack_cut_at_stale(struct stack *stack, const struct code_table *codes);

#endif /* SAMPLER_CPYTHON_STACK_STACK_PARTS_H */
