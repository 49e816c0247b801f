#include "sampler/cpython/stack/stack.h"

#include <string.h>

#include "sampler/cpython/stack/stack_parts.h"

enum { CHECK_BATCH = 256 };

void stack_init(struct stack *stack, struct memory *memory, const struct layout *layout,
                remote_addr tstate_addr, remote_addr generation_addr)
{
    memset(stack, 0, sizeof *stack);
    stack->reader = layout->has_heap_frames ? &heap_stack_reader : &chunk_stack_reader;
    copy_init(&stack->copy, memory, layout, tstate_addr, generation_addr);
    heap_frames_init(&stack->heap, &stack->copy);
}

void stack_deinit(struct stack *stack)
{
    copy_deinit(&stack->copy);
    walk_deinit(&stack->walk);
    heap_frames_deinit(&stack->heap);
}

/* Frames that were read after the epoch began may be of code objects that came after its checks. */
void stack_begin_epoch(const struct stack *stack, struct code_table *codes)
{
    const struct copy *const copy = &stack->copy;
    const bool is_begun = !copy->generation_addr && copy->memory->reads == stack->planned_reads;
    if (!copy->taken_ns && !is_begun)
        code_begin_epoch(codes);
}

bool stack_check_codes(const struct stack *stack, struct code_table *codes, size_t from)
{
    code_id ids[CHECK_BATCH];
    bool fresh = true;
    for (size_t at = from; at < stack->count; at += CHECK_BATCH) {
        const size_t left = stack->count - at;
        const size_t n = left < CHECK_BATCH ? left : CHECK_BATCH;
        for (size_t i = 0; i < n; i++)
            ids[i] = stack->frames[at + i].code;
        fresh &= code_check(codes, ids, n);
    }
    return fresh;
}

void stack_cut_at_stale(struct stack *stack, const struct code_table *codes)
{
    size_t i = 0;
    while (i < stack->count && code_at(codes, stack->frames[i].code)->checked_epoch)
        i++;
    stack->count = i;
    stack->certainty = STACK_TRUNCATED;
}

/* Reads until the stack is found, or another reading would not help.  `first`: the result of the reading
 * that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      enum err_code first)
{
    const struct stack_reader *const reader = stack->reader;
    enum err_code rc = first;
    bool again = true, has_found = false;
    for (int i = 0; i < reader->max_attempts && again; i++) {
        if (i > 0) {
            stack->copy.is_quick = false;
            rc = reader->read(stack);
        }
        if (!rc)
            rc = reader->find(stack, codes, !has_found, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        has_found = has_found || !rc;
        if (!rc && i > 0 && stack->certainty == STACK_EXACT && !stack->copy.is_still)
            stack->certainty = STACK_RETRIED;
    }
    rc = reader->conclude(stack, rc);
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

static bool needs_quick_check(const struct stack *stack)
{
    return stack->still >= STACK_STILL_READINGS &&
           stack->still % (STACK_QUICK_CHECKS_IN_A_ROW + 1) != 0;
}

enum err_code stack_read(struct stack *stack, struct code_table *codes)
{
    stack->copy.is_quick = false;
    return read_until_found(stack, codes, stack->reader->read(stack));
}

size_t stack_plan_count(const struct stack *stack)
{
    return stack->reader->plan_count(stack);
}

size_t stack_plan(struct stack *stack, struct memory_span *spans)
{
    stack->copy.is_quick = needs_quick_check(stack);
    return stack->reader->plan(stack, spans);
}

enum err_code stack_finish(struct stack *stack, struct code_table *codes,
                           const struct memory_span *spans, size_t count, size_t arrived)
{
    stack->planned_reads = stack->copy.memory->reads;
    return read_until_found(stack, codes, stack->reader->settle(stack, spans, count, arrived));
}
