#include "sampler/cpython/stack/stack.h"

#include <string.h>

#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/heap_stack.h"
#include "sampler/cpython/stack/stack_parts.h"

enum { MAX_ATTEMPTS = 6, CHECK_BATCH = 256 };

void stack_init(struct stack *stack, struct memory *memory, const struct layout *layout,
                remote_addr tstate_addr, remote_addr generation_addr)
{
    memset(stack, 0, sizeof *stack);
    copy_init(&stack->copy, memory, layout, tstate_addr, generation_addr);
    heap_frames_init(&stack->heap, &stack->copy);
}

void stack_deinit(struct stack *stack)
{
    copy_deinit(&stack->copy);
    walk_deinit(&stack->walk);
    heap_frames_deinit(&stack->heap);
}

static const unsigned char *bytes_of(const struct stack *stack, enum copy_reading reading,
                                     const struct walk_frame *frame)
{
    const struct copy *const copy = &stack->copy;
    return frame->is_off_chunk
               ? copy_off_chunk(copy, reading, frame->addr)
               : copy_at(copy, reading, frame->place, copy->layout->frame_bytes);
}

/* A popped frame has no executable, but still its last instruction. */
static bool is_of(const struct stack *stack, const struct code_table *codes,
                  const unsigned char *bytes, code_id code)
{
    static const uint64_t TAG_MASK = 7;
    const struct layout *const layout = stack->copy.layout;
    const remote_addr executable = field_u64(bytes, layout->frame_executable) & ~TAG_MASK;
    const remote_addr instr = field_u64(bytes, layout->frame_instr);
    return (executable == 0 || code_is_at(codes, code, executable)) &&
           code_holds(code_at(codes, code), instr);
}

/* Does B show the frame with the same code and caller as A?  A frame that B does not reach is as certain
 * as it was in the previous reading. */
static bool is_sure(const struct stack *stack, const struct code_table *codes, size_t index)
{
    const struct copy *const copy = &stack->copy;
    const uint32_t previous = copy->layout->frame_previous;
    const struct walk_frame *const frame = &stack->frames[index];
    const unsigned char *const a = bytes_of(stack, COPY_A, frame);
    const unsigned char *const b = bytes_of(stack, COPY_B, frame);
    if (frame->has_returned)
        return false;
    if (!b)
        return index < stack->walk.reused;
    return a && field_u64(a, previous) == field_u64(b, previous) &&
           is_of(stack, codes, b, frame->code);
}

/* The number of outermost frames that are certain.  Checks the frames that B reaches. */
static size_t sure_frames(const struct stack *stack, const struct code_table *codes)
{
    size_t sure = stack->count;
    for (size_t i = stack->count; i-- > 0;) {
        if (!is_sure(stack, codes, i))
            sure = i;
        else if (!bytes_of(stack, COPY_B, &stack->frames[i]) && i < stack->walk.reused)
            break;
    }
    return sure;
}

/* Is the waiting frame at another instruction in B?  Generators' frames are read in any order, so one may
 * have gone on after its callee was read. */
static bool may_have_moved(const struct stack *stack, size_t index)
{
    const struct copy *const copy = &stack->copy;
    const struct walk_frame *const frame = &stack->frames[index];
    const unsigned char *const b = bytes_of(stack, COPY_B, frame);
    return b && field_u64(b, copy->layout->frame_instr) != frame->instr;
}

/* The number of frames up to the first that may have moved between its reading and that of a generator
 * next to it. */
static size_t placed_frames(const struct stack *stack)
{
    for (size_t i = 0; i + 1 < stack->count; i++)
        if ((stack->frames[i].is_off_chunk || stack->frames[i + 1].is_off_chunk) &&
            may_have_moved(stack, i))
            return i + 1;
    return stack->count;
}

/* Keeps the frames that are certain: all of a thread that cannot move.  The next walk may reuse the
 * others too, but none that has returned. */
static void judge(struct stack *stack, struct code_table *codes)
{
    const size_t found = stack->count;
    size_t here = 0;
    while (here < found && !stack->frames[here].has_returned)
        here++;
    stack->walk.count = here;
    if (!stack->copy.is_still) {
        const size_t sure = sure_frames(stack, codes), placed = placed_frames(stack);
        stack->count = sure < placed ? sure : placed;
    }
    stack->certainty =
        stack->walk.is_broken || stack->count < found ? STACK_TRUNCATED : STACK_EXACT;
}

static bool generation_stands(const struct stack *stack)
{
    return stack->copy.generation_addr && stack->copy.generation == stack->generation;
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

/* Code objects that were read before the frames may have been replaced since, and so may those of frames
 * that have not moved, unless the generation shows that none was freed. */
static bool codes_are_fresh(struct stack *stack, struct code_table *codes)
{
    const size_t from = generation_stands(stack) ? stack->checked : 0;
    if (from == 0 && !stack->copy.shares_epoch)
        code_begin_epoch(codes);
    stack->generation = stack->copy.generation;
    const bool fresh = stack_check_codes(stack, codes, from);
    stack->checked = fresh ? stack->count : 0;
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

/* The next walk reuses nothing. */
static void cut_at_stale(struct stack *stack, const struct code_table *codes)
{
    stack_cut_at_stale(stack, codes);
    stack->walk.count = 0;
    copy_forget(&stack->copy);
}

/* Every byte is the same, and so are the code objects: the stack is unchanged.  A quick check does not
 * check code objects, because its thread has not moved for long. */
static bool is_unchanged(struct stack *stack, struct code_table *codes, remote_addr running)
{
    const struct walk *const walk = &stack->walk;
    return stack->certainty == STACK_EXACT && stack->count == walk->count &&
           stack->running == running && copy_changed_from(&stack->copy) == COPY_NOWHERE &&
           copy_off_chunk_is_same(&stack->copy) &&
           ((!stack->copy.has_again && !stack->copy.is_still) || generation_stands(stack) ||
            codes_are_fresh(stack, codes));
}

static enum err_code walk_to(struct stack *stack, struct code_table *codes, remote_addr running)
{
    struct walk *const walk = &stack->walk;
    const enum err_code rc = walk_reading(walk, &stack->copy, running, codes);
    if (rc) {
        walk->count = 0;
        copy_forget(&stack->copy);
        return rc;
    }
    stack->frames = walk->frames;
    stack->count = walk->count;
    stack->running = running;
    copy_accept(&stack->copy);
    /* What is known of the outermost frames is valid as far as their code is the same. */
    if (stack->checked > walk->reused)
        stack->checked = walk->reused;
    if (stack->checked > walk->same_codes)
        stack->checked = walk->same_codes;
    return ERR_OK;
}

/* Finds the stack in the copied bytes.  *again_out: predictions were wrong or code objects were new, so
 * another reading can improve the stack. */
static enum err_code find_stack(struct stack *stack, struct code_table *codes, bool *again_out)
{
    remote_addr running;
    *again_out = true;
    stack->is_unchanged = false;
    enum err_code rc = copy_follow(&stack->copy);
    if (rc)
        return rc;
    /* The next reading will know the running frame. */
    if (!copy_running(&stack->copy, &running))
        return ERR_FAULT;
    if (is_unchanged(stack, codes, running)) {
        copy_accept(&stack->copy);
        stack->is_unchanged = true;
        *again_out = false;
        return ERR_OK;
    }
    stack->tag = 0;
    rc = walk_to(stack, codes, running);
    if (!rc && stack->walk.is_broken && stack->copy.is_still &&
        copy_running_before(&stack->copy, &running))
        rc = walk_to(stack, codes, running);
    if (rc)
        return rc;
    *again_out = stack->walk.is_broken || (stack->walk.loaded && !stack->copy.is_still);
    judge(stack, codes);
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        cut_at_stale(stack, codes);
    }
    return ERR_OK;
}

/* Another reading may show what the first one did not. */
static bool is_worth_another(const struct stack *stack)
{
    return !stack->is_unchanged && stack->certainty == STACK_TRUNCATED;
}

/* `first`: the result of the reading that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      enum err_code first)
{
    enum err_code rc = first;
    bool again = true, has_found = false;
    for (int i = 0; i < MAX_ATTEMPTS && again; i++) {
        if (i > 0)
            rc = copy_read(&stack->copy);
        if (!rc)
            rc = find_stack(stack, codes, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc) {
            again = again || (!has_found && is_worth_another(stack));
            has_found = true;
        }
        if (!rc && i > 0 && stack->certainty == STACK_EXACT && !stack->copy.is_still)
            stack->certainty = STACK_RETRIED;
    }
    copy_drop_idle(&stack->copy);
    /* The thread runs code, but none of its frames was found. */
    if (!rc && stack->count == 0 && stack->walk.is_broken)
        rc = ERR_FAULT;
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code stack_read(struct stack *stack, struct code_table *codes)
{
    if (heap_stack_is(stack))
        return heap_stack_read(stack, codes);
    return read_until_found(stack, codes, copy_read(&stack->copy));
}

static bool needs_quick_check(const struct stack *stack)
{
    return stack->still >= STACK_STILL_READINGS &&
           stack->still % (STACK_QUICK_CHECKS_IN_A_ROW + 1) != 0;
}

size_t stack_plan_count(const struct stack *stack)
{
    if (heap_stack_is(stack))
        return heap_frames_plan_count(&stack->heap, needs_quick_check(stack));
    return copy_plan_count(&stack->copy, needs_quick_check(stack));
}

size_t stack_plan(struct stack *stack, struct memory_span *spans)
{
    if (heap_stack_is(stack))
        return heap_frames_plan(&stack->heap, needs_quick_check(stack), spans);
    return copy_plan(&stack->copy, needs_quick_check(stack), spans);
}

enum err_code stack_finish(struct stack *stack, struct code_table *codes,
                           const struct memory_span *spans, size_t count, size_t arrived)
{
    if (heap_stack_is(stack))
        return heap_stack_finish(stack, codes, spans, count, arrived);
    const enum err_code rc = copy_settle(&stack->copy, spans, count, arrived);
    return read_until_found(stack, codes, rc);
}
