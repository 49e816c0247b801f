#include "sampler/cpython/stack/heap_stack.h"

#include "sampler/cpython/stack/stack_parts.h"

enum { MAX_ATTEMPTS = 4 };

/* Keeps the frames that both readings confirm: all of a thread that cannot move. */
static void judge(struct stack *stack)
{
    const size_t found = stack->count;
    if (!stack->copy.is_still)
        stack->count = heap_frames_sure(&stack->heap);
    stack->certainty = stack->count < found ? STACK_TRUNCATED : STACK_EXACT;
}

static bool codes_are_fresh(const struct stack *stack, struct code_table *codes)
{
    if (!stack->copy.shares_epoch)
        code_begin_epoch(codes);
    return stack_check_codes(stack, codes, 0);
}

/* Frames that have not moved keep their code objects alive, so a quick check does not check those. */
static bool is_unchanged(const struct stack *stack, struct code_table *codes)
{
    return stack->certainty == STACK_EXACT && stack->count == stack->heap.frame_count &&
           heap_frames_are_same(&stack->heap) &&
           ((stack->heap.planned_again == 0 && !stack->copy.is_still) ||
            codes_are_fresh(stack, codes));
}

static enum err_code find_stack(struct stack *stack, struct code_table *codes, bool *again_out)
{
    *again_out = false;
    stack->is_unchanged = is_unchanged(stack, codes);
    if (stack->is_unchanged) {
        heap_frames_accept(&stack->heap);
        return ERR_OK;
    }
    stack->tag = 0;
    const enum err_code rc = heap_frames_walk(&stack->heap, codes);
    if (rc)
        return rc;
    stack->frames = stack->heap.frames[0];
    stack->count = stack->heap.frame_count;
    judge(stack);
    *again_out = !stack->heap.is_complete || stack->heap.is_broken ||
                 (stack->count == 0 && stack->heap.frame_count != 0);
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        stack_cut_at_stale(stack, codes);
    }
    heap_frames_accept(&stack->heap);
    return stack->heap.is_broken ? ERR_FAULT : ERR_OK;
}

/* `first`: the result of the reading that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      enum err_code first)
{
    enum err_code rc = first;
    bool again = true;
    for (int i = 0; i < MAX_ATTEMPTS && again; i++) {
        if (i > 0)
            rc = heap_frames_read(&stack->heap);
        if (!rc)
            rc = find_stack(stack, codes, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc && i > 0 && stack->certainty == STACK_EXACT && !stack->copy.is_still)
            stack->certainty = STACK_RETRIED;
    }
    if (rc)
        stack->count = 0;
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code heap_stack_read(struct stack *stack, struct code_table *codes)
{
    return read_until_found(stack, codes, heap_frames_read(&stack->heap));
}

enum err_code heap_stack_finish(struct stack *stack, struct code_table *codes,
                                const struct memory_span *spans, size_t count, size_t arrived)
{
    return read_until_found(stack, codes,
                            heap_frames_settle(&stack->heap, spans, count, arrived));
}
