#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/stack_parts.h"

/* Callers and generators are read one after the other, so a frame next to a generator's may have gone on in between.  Reads the
 * instructions at which such frames wait once more; returns the number of frames up to the first that is elsewhere now. */
static size_t placed_frames(const struct stack *stack)
{
    enum { BATCH = 64 };
    const struct copy *const copy = &stack->copy;
    struct memory_span spans[BATCH];
    uint64_t now[BATCH];
    size_t which[BATCH], count = 0, arrived;
    for (size_t i = 0; i + 1 < stack->count; i++) {
        const struct walk_frame *const frame = &stack->frames[i];
        if (frame->is_off_chunk || frame[1].is_off_chunk) {
            spans[count] = (struct memory_span){ frame->addr + copy->layout->frame_instr,
                                                 &now[count], sizeof *now };
            which[count++] = i;
        }
        if (count == 0 || (count < BATCH && i + 2 < stack->count))
            continue;
        if (memory_readv(copy->memory, spans, count, &arrived))
            count = arrived / sizeof *now + 1;
        for (size_t k = 0; k < count; k++)
            if (k == arrived / sizeof *now || now[k] != stack->frames[which[k]].instr)
                return which[k] + 1;
        count = 0;
    }
    return stack->count;
}

static bool generation_stands(const struct stack *stack)
{
    return stack->copy.generation_addr && stack->copy.generation == stack->generation;
}

/* Has no code object been freed, or no other been described in its place, since the last check? */
static bool checks_stand(const struct stack *stack, const struct code_table *codes)
{
    return generation_stands(stack) ||
           (codes->is_described && codes->counters.stale == stack->stale);
}

/* Code objects that were read before the frames may have been replaced since, and so may those of frames
 * that have not moved. */
static bool codes_are_fresh(struct stack *stack, struct code_table *codes)
{
    const size_t from = checks_stand(stack, codes) ? stack->checked : 0;
    if (from == 0)
        stack_begin_epoch(stack, codes);
    stack->generation = stack->copy.generation;
    stack->stale = codes->counters.stale;
    const bool fresh = stack_check_codes(stack, codes, from);
    stack->checked = fresh ? stack->count : 0;
    return fresh;
}

/* Every byte is the same, and so are the code objects: the stack is unchanged.  A quick check does not
 * check code objects, because its thread has not moved for long. */
static bool is_unchanged(struct stack *stack, struct code_table *codes, uint64_t changed,
                         remote_addr running)
{
    const struct walk *const walk = &stack->walk;
    return stack->certainty == STACK_EXACT && stack->count == walk->count &&
           stack->running == running && changed == COPY_NOWHERE &&
           copy_off_chunk_is_same(&stack->copy) &&
           ((stack->copy.is_quick && !stack->copy.is_still) || generation_stands(stack) ||
            codes_are_fresh(stack, codes));
}

static enum err_code walk_to(struct stack *stack, struct code_table *codes, uint64_t changed,
                             remote_addr running)
{
    struct walk *const walk = &stack->walk;
    const enum err_code rc = walk_reading(walk, &stack->copy, changed, running, codes);
    if (rc) {
        walk->count = 0;
        copy_forget(&stack->copy);
        return rc;
    }
    stack->frames = walk->frames;
    stack->count = walk->count;
    stack->running = running;
    copy_accept(&stack->copy);
    if (stack->checked > walk->reused)
        stack->checked = walk->reused;
    return ERR_OK;
}

/* 3.11 and 3.12: an evaluation loop that has just been entered has no frame yet.  A thread that runs no Python
 * code is in no such loop. */
static enum err_code find_running(struct stack *stack, remote_addr *out)
{
    remote_addr before;
    /* The next reading will know the running frame. */
    if (!copy_running(&stack->copy, out))
        return ERR_FAULT;
    if (*out || !copy_running_before(&stack->copy, &before) || !before)
        return ERR_OK;
    *out = before;
    return stack->copy.is_still ? ERR_OK : ERR_FAULT;
}

static enum err_code find_stack(struct stack *stack, struct code_table *codes, bool is_first,
                                bool *again_out)
{
    remote_addr running;
    *again_out = true;
    stack->is_unchanged = false;
    enum err_code rc = copy_follow(&stack->copy);
    if (!rc)
        rc = find_running(stack, &running);
    if (rc)
        return rc;
    const uint64_t changed = copy_changed_from(&stack->copy, 0);
    if (is_unchanged(stack, codes, changed, running)) {
        copy_accept(&stack->copy);
        stack->is_unchanged = true;
        *again_out = false;
        return ERR_OK;
    }
    stack->tag = stack->native_tag = 0;
    rc = walk_to(stack, codes, changed, running);
    if (!rc && !is_first && stack->walk.is_broken && stack->copy.is_still &&
        copy_running_before(&stack->copy, &running) && running)
        rc = walk_to(stack, codes, changed, running);
    if (rc)
        return rc;
    *again_out = stack->walk.is_broken || (stack->walk.loaded && !stack->copy.is_still);

    /* The frames that stood where they do when their callees did: all of a thread that cannot move.  The next walk may
     * reuse the others too. */
    const struct walk *const walk = &stack->walk;
    if (!stack->copy.is_still)
        stack->count = placed_frames(stack);
    const bool is_whole = !walk->is_broken && !walk->is_cut && stack->count == walk->count;
    stack->certainty = is_whole ? STACK_EXACT : STACK_TRUNCATED;

    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        /* The next walk reuses nothing. */
        stack_cut_at_stale(stack, codes);
        stack->walk.count = 0;
        copy_forget(&stack->copy);
    }
    /* Another reading may show what the first one did not. */
    if (is_first && stack->certainty == STACK_TRUNCATED)
        *again_out = true;
    return ERR_OK;
}

static enum err_code conclude_sample(struct stack *stack, enum err_code rc)
{
    copy_drop_idle(&stack->copy);
    /* The thread runs code, but none of its frames was found. */
    return !rc && stack->count == 0 && stack->walk.is_broken ? ERR_FAULT : rc;
}

static size_t plan_count(const struct stack *stack)
{
    return copy_plan_count(&stack->copy);
}

static size_t plan(struct stack *stack, struct memory_span *spans)
{
    return copy_plan(&stack->copy, spans);
}

static enum err_code settle(struct stack *stack, const struct memory_span *spans, size_t count,
                            size_t arrived)
{
    return copy_settle(&stack->copy, spans, count, arrived);
}

static enum err_code read_again(struct stack *stack)
{
    return copy_read(&stack->copy);
}

const struct stack_reader chunk_stack_reader = {
    .max_attempts = 6,
    .plan_count = plan_count,
    .plan = plan,
    .settle = settle,
    .read = read_again,
    .find = find_stack,
    .conclude = conclude_sample,
};
