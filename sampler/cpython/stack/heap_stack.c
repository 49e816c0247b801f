#include "sampler/cpython/stack/heap_stack.h"

#include "sampler/cpython/stack/stack_parts.h"

enum { MAX_ATTEMPTS = 4 };

static code_id caller_code(const struct stack *stack, size_t index)
{
    return index ? stack->frames[index - 1].code : CODE_NONE;
}

static void remember(const struct stack *stack, size_t sure, struct call_edges *edges)
{
    for (size_t i = 0; i < sure; i++) {
        call_edges_add(edges, caller_code(stack, i), stack->frames[i].code);
        if (i && heap_frames_stays(&stack->heap, i - 1))
            call_edges_note_site(edges, stack->frames[i - 1].code, stack->frames[i].code,
                                 stack->frames[i - 1].instr);
    }
}

/* Frames that both readings confirm are certain; others are accepted as far as their call edges are
 * known.  A chain may end at a frame at which no stack has been seen to begin: then a generator has
 * yielded since, and its caller is unknown. */
static void judge(struct stack *stack, struct call_edges *edges)
{
    const size_t sure = stack->copy.is_still ? stack->count : heap_frames_sure(&stack->heap);
    size_t known = sure;
    remember(stack, sure, edges);
    while (known < stack->count &&
           call_edges_has(edges, caller_code(stack, known), stack->frames[known].code))
        known++;
    stack->certainty = known < stack->count  ? STACK_TRUNCATED
                       : sure < stack->count ? STACK_REPAIRED
                                             : STACK_EXACT;
    stack->count = known;
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

static enum err_code find_stack(struct stack *stack, struct code_table *codes,
                                struct call_edges *edges, bool *again_out)
{
    *again_out = false;
    stack->is_unchanged = is_unchanged(stack, codes);
    if (stack->is_unchanged) {
        heap_frames_accept(&stack->heap);
        return ERR_OK;
    }
    stack->tag = 0;
    const enum err_code rc = heap_frames_walk(&stack->heap, codes, edges);
    if (rc)
        return rc;
    stack->frames = stack->heap.frames[0];
    stack->count = stack->heap.frame_count;
    judge(stack, edges);
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
                                      struct call_edges *edges, enum err_code first)
{
    enum err_code rc = first;
    bool again = true;
    for (int i = 0; i < MAX_ATTEMPTS && again; i++) {
        if (i > 0)
            rc = heap_frames_read(&stack->heap);
        if (!rc)
            rc = find_stack(stack, codes, edges, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc && i > 0 && stack->certainty == STACK_EXACT && !stack->copy.is_still)
            stack->certainty = again ? STACK_REPAIRED : STACK_RETRIED;
    }
    if (rc)
        stack->count = 0;
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code heap_stack_read(struct stack *stack, struct code_table *codes,
                              struct call_edges *edges)
{
    return read_until_found(stack, codes, edges, heap_frames_read(&stack->heap));
}

enum err_code heap_stack_finish(struct stack *stack, struct code_table *codes,
                                struct call_edges *edges, const struct memory_span *spans,
                                size_t count, size_t arrived)
{
    return read_until_found(stack, codes, edges,
                            heap_frames_settle(&stack->heap, spans, count, arrived));
}
