/*
 * stack_parts - shared by the two kinds of stacks: in chunks (stack.c) and in the heap (heap_stack.c).
 *
 * Private to stack.
 *
 * Depends on: stack.
 */
#ifndef SAMPLER_CPYTHON_STACK_STACK_PARTS_H
#define SAMPLER_CPYTHON_STACK_STACK_PARTS_H

#include "sampler/cpython/stack/stack.h"

/* Are the code objects of the frames from `from` on unchanged?  The caller begins the epoch. */
bool stack_check_codes(const struct stack *stack, struct code_table *codes, size_t from);
/* Cuts the stack below the first frame whose code object is another by now. */
void stack_cut_at_stale(struct stack *stack, const struct code_table *codes);

#endif /* SAMPLER_CPYTHON_STACK_STACK_PARTS_H */
