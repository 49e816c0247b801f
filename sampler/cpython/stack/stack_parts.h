/*
 * stack_parts - the two ways to read a stack, behind one table of operations.
 *
 * chunk_stack.c reads frames in data-stack chunks (3.11 and later), heap_stack.c frames in the heap (3.8 to
 * 3.10).  stack.c decides when to read again.
 *
 * Private to stack.
 */
#ifndef SAMPLER_CPYTHON_STACK_STACK_PARTS_H
#define SAMPLER_CPYTHON_STACK_STACK_PARTS_H

#include "sampler/cpython/stack/stack.h"

struct stack_reader {
    int max_attempts; /* readings for one sample */
    /* As copy_plan_count, copy_plan, copy_settle and copy_read. */
    size_t (*plan_count)(const struct stack *stack);
    size_t (*plan)(struct stack *stack, struct memory_span *spans);
    enum err_code (*settle)(struct stack *stack, const struct memory_span *spans, size_t count,
                            size_t arrived);
    enum err_code (*read)(struct stack *stack);
    /* Finds the stack in the copied bytes.  is_first: no other reading for this sample has shown one.
     * *again_out: predictions were wrong or code objects were new, so another reading can improve it. */
    enum err_code (*find)(struct stack *stack, struct code_table *codes, bool is_first,
                          bool *again_out);
    /* After the last reading, whose result is rc.  Returns that of the sample. */
    enum err_code (*conclude)(struct stack *stack, enum err_code rc);
};

extern const struct stack_reader chunk_stack_reader, heap_stack_reader;

/* Begins an epoch, unless the caller of stack_finish did and nothing has been read since. */
void stack_begin_epoch(const struct stack *stack, struct code_table *codes);
/* Are the code objects of the frames from `from` on unchanged?  The caller begins the epoch. */
bool stack_check_codes(const struct stack *stack, struct code_table *codes, size_t from);
/* Cuts the stack below the first frame whose code object is another by now. */
void stack_cut_at_stale(struct stack *stack, const struct code_table *codes);

#endif /* SAMPLER_CPYTHON_STACK_STACK_PARTS_H */
