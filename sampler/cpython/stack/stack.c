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
    frame_history_deinit(&stack->history);
    frame_history_deinit(&stack->runners);
}

static code_id caller_code(const struct stack *stack, size_t index)
{
    return index ? stack->frames[index - 1].code : CODE_NONE;
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

/* A caller of C code need not show that it waits.  The caller of a generator must be at an instruction
 * that resumes one. */
static bool stands_at_call(const struct stack *stack, struct code_table *codes, size_t index)
{
    const struct walk_frame *const caller = &stack->frames[index];
    const struct walk_frame *const callee = caller + 1;
    return caller->is_waiting ||
           (callee->entered_from_c &&
            (!callee->is_off_chunk ||
             code_act_at(codes, caller->code, caller->instr) == CODE_RESUMES));
}

/* Adds the call edges between certain frames, with their call sites; those of unchanged frames have been
 * added before. */
static void remember(struct stack *stack, size_t sure, struct code_table *codes,
                     struct call_edges *edges)
{
    for (size_t i = stack->remembered; i < sure; i++) {
        call_edges_add(edges, caller_code(stack, i), stack->frames[i].code);
        if (i && stands_at_call(stack, codes, i - 1) && !may_have_moved(stack, i - 1))
            call_edges_note_site(edges, stack->frames[i - 1].code, stack->frames[i].code,
                                 stack->frames[i - 1].instr);
    }
    stack->remembered = sure;
}

/* Suspects call edges that reading A alone shows: a waiting caller and a callee that has not returned.
 * If they were read in one call, such an edge is nearly always real. */
static void suspect(const struct stack *stack, size_t from, struct call_edges *edges)
{
    if (stack->copy.is_pieced)
        return;
    for (size_t i = from ? from : 1; i < stack->count; i++)
        if (stack->frames[i - 1].is_waiting && !stack->frames[i].has_returned &&
            !stack->frames[i - 1].is_off_chunk && !stack->frames[i].is_off_chunk) {
            call_edges_suspect(edges, stack->frames[i - 1].code, stack->frames[i].code);
            if (!call_edges_site(edges, stack->frames[i - 1].code, stack->frames[i].code))
                call_edges_note_site(edges, stack->frames[i - 1].code, stack->frames[i].code,
                                     stack->frames[i - 1].instr);
        }
}

/* The number of frames up to the first unknown call edge from `from` on. */
static size_t confirmed(const struct stack *stack, size_t from, const struct call_edges *edges)
{
    size_t i = from;
    /* The outermost frame has no caller. */
    while (i < stack->count &&
           (i == 0 || call_edges_has(edges, caller_code(stack, i), stack->frames[i].code)))
        i++;
    return i;
}

/* The frames from `index` on differ from their bytes, so no later walk may reuse them. */
static void change_from(struct stack *stack, size_t index)
{
    for (size_t i = index; i < stack->count; i++)
        memset(stack->frames[i].tags, 0, sizeof stack->frames[i].tags);
    if (stack->walk.count > index)
        stack->walk.count = index;
}

/* A frame whose callee has returned runs again, so its instruction is set back to the last known call
 * site.  Returns the number of frames up to the first whose call site is unknown. */
static size_t restore_sites(struct stack *stack, struct code_table *codes,
                            const struct call_edges *edges)
{
    bool has_returned = false;
    for (size_t i = 0; i + 1 < stack->count; i++) {
        struct walk_frame *const frame = &stack->frames[i];
        has_returned = has_returned || frame[1].has_returned;
        const bool is_doubtful =
            (frame->is_off_chunk || frame[1].is_off_chunk) && may_have_moved(stack, i);
        const bool is_elsewhere = frame[1].is_off_chunk && !stands_at_call(stack, codes, i);
        if (!has_returned && !is_doubtful && !is_elsewhere)
            continue;
        const remote_addr site = call_edges_site(edges, frame->code, frame[1].code);
        if (!site && !has_returned && !is_doubtful)
            continue;
        if (!site)
            return i + 1;
        if (frame->instr == site)
            continue;
        frame->instr = site;
        change_from(stack, i);
    }
    return stack->count;
}

/* The innermost frame ran, even if the frames below it are others by now.  Where the frame below is not a
 * known caller, puts back a caller from the frame history, and so on outwards. */
static void restore_callers(struct stack *stack, const struct code_table *codes,
                            const struct call_edges *edges)
{
    for (size_t i = stack->count; i-- > 1;) {
        struct walk_frame *const caller = &stack->frames[i - 1];
        const code_id callee = stack->frames[i].code;
        if (call_edges_has(edges, caller->code, callee))
            continue;
        const struct past_frame *const past =
            frame_history_find(&stack->history, codes, edges, caller->addr, callee);
        if (!past)
            return;
        caller->code = past->code;
        caller->instr = call_edges_site(edges, past->code, callee);
        caller->entered_from_c = past->entered_from_c;
        caller->has_returned = true;
        change_from(stack, i - 1);
    }
}

/* Adds the frames of this reading to the frame history. */
static void note_history(struct stack *stack)
{
    for (size_t i = stack->walk.same; i < stack->count; i++) {
        const struct walk_frame *const frame = &stack->frames[i];
        if (!frame->has_returned && !frame->is_off_chunk)
            frame_history_note(&stack->history,
                               &(struct past_frame){ .addr = frame->addr,
                                                     .instr = frame->instr,
                                                     .caller = i ? frame[-1].addr : 0,
                                                     .code = frame->code,
                                                     .entered_from_c = frame->entered_from_c });
    }
    if (stack->walk.leaf.addr)
        frame_history_note(&stack->runners, &stack->walk.leaf);
}

static bool has_generators(const struct stack *stack)
{
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].is_off_chunk)
            return true;
    return false;
}

/* Nothing has moved: every frame that was found is certain. */
static void judge_still(struct stack *stack, struct code_table *codes, struct call_edges *edges)
{
    remember(stack, stack->count, codes, edges);
    note_history(stack);
    stack->certainty = stack->walk.is_broken ? STACK_TRUNCATED : STACK_EXACT;
}

static void judge(struct stack *stack, struct code_table *codes, struct call_edges *edges)
{
    const size_t sure = sure_frames(stack, codes);
    size_t here = 0;
    while (here < stack->walk.count && !stack->frames[here].has_returned)
        here++;
    stack->walk.count = here;
    remember(stack, sure, codes, edges);
    note_history(stack);
    stack->certainty = stack->walk.is_broken ? STACK_TRUNCATED : STACK_EXACT;
    if (sure == stack->count && !has_generators(stack))
        return;
    suspect(stack, sure, edges);
    restore_callers(stack, codes, edges);
    const size_t linked = confirmed(stack, 0, edges),
                 placed = restore_sites(stack, codes, edges);
    const size_t known = linked < placed ? linked : placed;
    if (known < stack->count)
        stack->certainty = STACK_TRUNCATED;
    else if (!stack->walk.is_broken && sure < stack->count)
        stack->certainty = STACK_REPAIRED;
    stack->count = known;
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

static enum err_code walk_to(struct stack *stack, struct code_table *codes,
                             const struct call_edges *edges, bool is_known, remote_addr running)
{
    struct walk *const walk = &stack->walk;
    const struct walk_context context = { codes, edges, &stack->history, &stack->runners };
    const enum err_code rc = is_known ? walk_reading(walk, &stack->copy, running, &context)
                                      : walk_from_top(walk, &stack->copy, &context);
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
    if (stack->remembered > walk->same)
        stack->remembered = walk->same;
    if (stack->checked > walk->reused)
        stack->checked = walk->reused;
    if (stack->checked > walk->same_codes)
        stack->checked = walk->same_codes;
    return ERR_OK;
}

/* Finds the stack in the copied bytes.  *again_out: predictions were wrong or code objects were new, so
 * another reading can improve the stack. */
static enum err_code find_stack(struct stack *stack, struct code_table *codes,
                                struct call_edges *edges, bool *again_out)
{
    remote_addr running;
    *again_out = true;
    stack->is_unchanged = false;
    enum err_code rc = copy_follow(&stack->copy);
    if (rc)
        return rc;
    const bool is_known = copy_running(&stack->copy, &running);
    if (is_known && is_unchanged(stack, codes, running)) {
        copy_accept(&stack->copy);
        stack->is_unchanged = true;
        *again_out = false;
        return ERR_OK;
    }
    stack->tag = 0;
    rc = walk_to(stack, codes, edges, is_known, running);
    if (rc)
        return rc;
    /* The running frame is unknown, and so there are no frames; the next reading will know it. */
    *again_out = stack->walk.loaded || (!is_known && stack->count == 0);
    if (stack->copy.is_still) {
        *again_out = !is_known || stack->walk.is_broken;
        judge_still(stack, codes, edges);
    } else {
        judge(stack, codes, edges);
    }
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        cut_at_stale(stack, codes);
    }
    return ERR_OK;
}

/* Another reading may show what the first one did not, and adds call edges. */
static bool is_worth_another(const struct stack *stack)
{
    return !stack->is_unchanged && stack->certainty == STACK_TRUNCATED;
}

/* `first`: the result of the reading that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      struct call_edges *edges, enum err_code first)
{
    enum err_code rc = first;
    bool again = true, has_found = false;
    for (int i = 0; i < MAX_ATTEMPTS && again; i++) {
        if (i > 0)
            rc = copy_read(&stack->copy);
        if (!rc)
            rc = find_stack(stack, codes, edges, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc) {
            again = again || (!has_found && is_worth_another(stack));
            has_found = true;
        }
        /* The last attempt is used even if it is imperfect: a repaired stack is better than none. */
        if (!rc && i > 0 && stack->certainty == STACK_EXACT && !stack->copy.is_still)
            stack->certainty = again ? STACK_REPAIRED : STACK_RETRIED;
    }
    copy_drop_idle(&stack->copy);
    /* The thread runs code, but none of its frames was found. */
    if (!rc && stack->count == 0 && stack->walk.is_broken)
        rc = ERR_FAULT;
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code stack_read(struct stack *stack, struct code_table *codes,
                         struct call_edges *edges)
{
    if (heap_stack_is(stack))
        return heap_stack_read(stack, codes, edges);
    return read_until_found(stack, codes, edges, copy_read(&stack->copy));
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
                           struct call_edges *edges, const struct memory_span *spans,
                           size_t count, size_t arrived)
{
    if (heap_stack_is(stack))
        return heap_stack_finish(stack, codes, edges, spans, count, arrived);
    const enum err_code rc = copy_settle(&stack->copy, spans, count, arrived);
    return read_until_found(stack, codes, edges, rc);
}
