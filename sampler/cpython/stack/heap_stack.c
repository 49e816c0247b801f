#include "sampler/cpython/stack/heap_frames.h"
#include "sampler/cpython/stack/stack_parts.h"

static bool codes_are_fresh(const struct stack *stack, struct code_table *codes)
{
    stack_begin_epoch(stack, codes);
    return stack_check_codes(stack, codes, 0);
}

static enum err_code find_stack(struct stack *stack, struct code_table *codes, bool is_first,
                                bool *again_out)
{
    (void)is_first;
    *again_out = false;

    /* Frames that have not moved keep their code objects alive, so a quick check does not check
     * those. */
    stack->is_unchanged =
        stack->certainty == STACK_EXACT && stack->count == stack->heap.frame_count &&
        heap_frames_are_same(&stack->heap) &&
        ((stack->copy.is_quick && !stack->copy.is_still) || codes_are_fresh(stack, codes));

    if (stack->is_unchanged) {
        heap_frames_accept(&stack->heap);
        return ERR_OK;
    }
    stack->tag = stack->native_tag = 0;
    const enum err_code rc = heap_frames_walk(&stack->heap, codes);
    if (rc)
        return rc;
    stack->frames = stack->heap.frames[0];
    stack->count = stack->heap.frame_count;

    /* The frames that both readings confirm stay: all of a thread that cannot move. */
    const size_t found = stack->count;
    if (!stack->copy.is_still)
        stack->count = heap_frames_sure(&stack->heap);
    stack->certainty = stack->count < found ? STACK_TRUNCATED : STACK_EXACT;

    *again_out = !stack->heap.is_complete || stack->heap.is_broken ||
                 (stack->count == 0 && stack->heap.frame_count != 0);
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        stack_cut_at_stale(stack, codes);
    }
    heap_frames_accept(&stack->heap);
    return stack->heap.is_broken ? ERR_FAULT : ERR_OK;
}

static enum err_code conclude(struct stack *stack, enum err_code rc)
{
    if (rc)
        stack->count = 0;
    return rc;
}

static size_t plan_count(const struct stack *stack)
{
    return heap_frames_plan_count(&stack->heap);
}

static size_t plan(struct stack *stack, struct memory_span *spans)
{
    return heap_frames_plan(&stack->heap, spans);
}

static enum err_code settle(struct stack *stack, const struct memory_span *spans, size_t count,
                            size_t arrived)
{
    return heap_frames_settle(&stack->heap, spans, count, arrived);
}

static enum err_code read_again(struct stack *stack)
{
    return heap_frames_read(&stack->heap);
}

const struct stack_reader heap_stack_reader = {
    .max_attempts = 4,
    .plan_count = plan_count,
    .plan = plan,
    .settle = settle,
    .read = read_again,
    .find = find_stack,
    .conclude = conclude,
};
