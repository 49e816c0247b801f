#include "sampler/cpython/stack/stack.h"

#include <string.h>

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
    frame_history_deinit(&stack->slots);
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

/* What a popped frame leaves behind has no executable any more, but its last instruction. */
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

/* Does B show the frame as A did: of the same code and called by the same?  What B does not reach
 * is as sure as it was in the reading before. */
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
        return index < stack->walk.kept;
    return a && field_u64(a, previous) == field_u64(b, previous) &&
           is_of(stack, codes, b, frame->code);
}

/* Leading frames that are sure.  Those above the lowest one that B reaches are looked at. */
static size_t sure_frames(const struct stack *stack, const struct code_table *codes)
{
    size_t sure = stack->count;
    for (size_t i = stack->count; i-- > 0;) {
        if (!is_sure(stack, codes, i))
            sure = i;
        else if (!bytes_of(stack, COPY_B, &stack->frames[i]) && i < stack->walk.kept)
            break;
    }
    return sure;
}

/* Is a frame that waits at another instruction in B?  Frames of generators are read in no order, so
 * that one may have gone on after what it had called was read. */
static bool may_have_moved(const struct stack *stack, size_t index)
{
    const struct copy *const copy = &stack->copy;
    const struct walk_frame *const frame = &stack->frames[index];
    const unsigned char *const b = bytes_of(stack, COPY_B, frame);
    return b && field_u64(b, copy->layout->frame_instr) != frame->instr;
}

/* A caller in C code need not show that it waits; that of a generator stands where one is resumed. */
static bool stands_at_call(const struct stack *stack, struct code_table *codes, size_t index)
{
    const struct walk_frame *const caller = &stack->frames[index];
    const struct walk_frame *const callee = caller + 1;
    return caller->is_waiting ||
           (callee->entered_from_c &&
            (!callee->is_off_chunk ||
             code_act_at(codes, caller->code, caller->instr) == CODE_RESUMES));
}

/* Links between frames that are sure are remembered, and where the calls were made from; of those
 * that are as before that has been done. */
static void remember(struct stack *stack, size_t sure, struct code_table *codes,
                     struct call_edges *links)
{
    for (size_t i = stack->remembered; i < sure; i++) {
        call_edges_add(links, caller_code(stack, i), stack->frames[i].code);
        if (i && stands_at_call(stack, codes, i - 1) && !may_have_moved(stack, i - 1))
            call_edges_note_site(links, stack->frames[i - 1].code, stack->frames[i].code,
                                 stack->frames[i - 1].instr);
    }
    stack->remembered = sure;
}

/* What one reading alone shows, a caller that waits and a callee that has not returned, is nearly
 * always so, if they were read together. */
static void suspect(const struct stack *stack, size_t from, struct call_edges *links)
{
    if (stack->copy.is_pieced)
        return;
    for (size_t i = from ? from : 1; i < stack->count; i++)
        if (stack->frames[i - 1].is_waiting && !stack->frames[i].has_returned &&
            !stack->frames[i - 1].is_off_chunk && !stack->frames[i].is_off_chunk) {
            call_edges_suspect(links, stack->frames[i - 1].code, stack->frames[i].code);
            if (!call_edges_site(links, stack->frames[i - 1].code, stack->frames[i].code))
                call_edges_note_site(links, stack->frames[i - 1].code, stack->frames[i].code,
                                     stack->frames[i - 1].instr);
        }
}

/* Frames whose links from `from` on have been seen for certain. */
static size_t confirmed(const struct stack *stack, size_t from, const struct call_edges *links)
{
    size_t i = from;
    /* Nothing calls the outermost one. */
    while (i < stack->count &&
           (i == 0 || call_edges_has(links, caller_code(stack, i), stack->frames[i].code)))
        i++;
    return i;
}

/* Frames from `index` on are not what the bytes say: no later walk takes them over. */
static void change_from(struct stack *stack, size_t index)
{
    for (size_t i = index; i < stack->count; i++)
        memset(stack->frames[i].tags, 0, sizeof stack->frames[i].tags);
    if (stack->walk.count > index)
        stack->walk.count = index;
}

/* A frame whose callee has returned runs again; it is put where its call was last seen to be made
 * from.  Gives the number of frames up to one of which that is not known. */
static size_t restore_sites(struct stack *stack, struct code_table *codes,
                            const struct call_edges *links)
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
        const remote_addr site = call_edges_site(links, frame->code, frame[1].code);
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

/* The innermost frame ran, whatever lies below it by now: where that is none of its callers, one
 * that lay there before is put back, and so on outwards. */
static void restore_callers(struct stack *stack, const struct code_table *codes,
                            const struct call_edges *links)
{
    for (size_t i = stack->count; i-- > 1;) {
        struct walk_frame *const caller = &stack->frames[i - 1];
        const code_id callee = stack->frames[i].code;
        if (call_edges_has(links, caller->code, callee))
            continue;
        const struct slot *const slot =
            frame_history_find(&stack->slots, codes, links, caller->addr, callee);
        if (!slot)
            return;
        caller->code = slot->code;
        caller->instr = call_edges_site(links, slot->code, callee);
        caller->entered_from_c = slot->entered_from_c;
        caller->has_returned = true;
        change_from(stack, i - 1);
    }
}

/* What lies where for certain is worth remembering. */
static void note_slots(struct stack *stack)
{
    for (size_t i = stack->walk.same; i < stack->count; i++) {
        const struct walk_frame *const frame = &stack->frames[i];
        if (!frame->has_returned && !frame->is_off_chunk)
            frame_history_note(&stack->slots,
                               &(struct slot){ .addr = frame->addr,
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

static void judge(struct stack *stack, struct code_table *codes, struct call_edges *links)
{
    const size_t sure = sure_frames(stack, codes);
    size_t here = 0;
    while (here < stack->walk.count && !stack->frames[here].has_returned)
        here++;
    stack->walk.count = here;
    remember(stack, sure, codes, links);
    note_slots(stack);
    stack->certainty = stack->walk.is_broken ? STACK_TRUNCATED : STACK_EXACT;
    if (sure == stack->count && !has_generators(stack))
        return;
    suspect(stack, sure, links);
    restore_callers(stack, codes, links);
    const size_t linked = confirmed(stack, 0, links),
                 placed = restore_sites(stack, codes, links);
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

/* What was read before it was checked may have been another code object by then; and so may what
 * lies where it lay, unless none was freed meanwhile. */
static bool codes_are_fresh(struct stack *stack, struct code_table *codes)
{
    const size_t from = generation_stands(stack) ? stack->checked : 0;
    if (from == 0)
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

/* The next walk starts anew. */
static void cut_at_stale(struct stack *stack, const struct code_table *codes)
{
    stack_cut_at_stale(stack, codes);
    stack->walk.count = 0;
    copy_forget(&stack->copy);
}

/* Every byte is as it was, and what it points to is too: the stack is the one we have.  A thread
 * that is only glanced at has not moved for long. */
static bool is_unchanged(struct stack *stack, struct code_table *codes, remote_addr running)
{
    const struct walk *const walk = &stack->walk;
    return stack->certainty == STACK_EXACT && stack->count == walk->count &&
           stack->running == running && copy_changed_from(&stack->copy) == COPY_NOWHERE &&
           copy_off_chunk_is_same(&stack->copy) &&
           (!stack->copy.has_again || generation_stands(stack) ||
            codes_are_fresh(stack, codes));
}

static enum err_code walk_to(struct stack *stack, struct code_table *codes,
                             const struct call_edges *links, bool is_known, remote_addr running)
{
    struct walk *const walk = &stack->walk;
    const struct walk_context context = { codes, links, &stack->slots, &stack->runners };
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
    copy_keep(&stack->copy);
    /* What was known of leading frames holds as far as there is the same code. */
    if (stack->remembered > walk->same)
        stack->remembered = walk->same;
    if (stack->checked > walk->kept)
        stack->checked = walk->kept;
    if (stack->checked > walk->same_codes)
        stack->checked = walk->same_codes;
    return ERR_OK;
}

/* Finds the stack in what has been read.  *again_out: predictions were wrong or code objects new;
 * what there is now can be bettered by another attempt. */
static enum err_code find_stack(struct stack *stack, struct code_table *codes,
                                struct call_edges *links, bool *again_out)
{
    remote_addr running;
    *again_out = true;
    stack->is_unchanged = false;
    enum err_code rc = copy_follow(&stack->copy);
    if (rc)
        return rc;
    const bool is_known = copy_running(&stack->copy, &running);
    if (is_known && is_unchanged(stack, codes, running)) {
        copy_keep(&stack->copy);
        stack->is_unchanged = true;
        *again_out = false;
        return ERR_OK;
    }
    stack->tag = 0;
    rc = walk_to(stack, codes, links, is_known, running);
    if (rc)
        return rc;
    /* No frame at all where it is not known which one ran: it will be known next time. */
    *again_out = stack->walk.loaded || (!is_known && stack->count == 0);
    judge(stack, codes, links);
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        cut_at_stale(stack, codes);
    }
    return ERR_OK;
}

/* Another reading may show what the first one did not, and teaches links. */
static bool is_worth_another(const struct stack *stack)
{
    return !stack->is_unchanged && stack->certainty == STACK_TRUNCATED;
}

/* `first`: what became of the reading that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      struct call_edges *links, enum err_code first)
{
    enum err_code rc = first;
    bool again = true, has_found = false;
    for (int i = 0; i < MAX_ATTEMPTS && again; i++) {
        if (i > 0)
            rc = copy_read(&stack->copy);
        if (!rc)
            rc = find_stack(stack, codes, links, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc) {
            again = again || (!has_found && is_worth_another(stack));
            has_found = true;
        }
        /* The last attempt's stack is used as it is: better repaired than dropped. */
        if (!rc && i > 0 && stack->certainty == STACK_EXACT)
            stack->certainty = again ? STACK_REPAIRED : STACK_RETRIED;
    }
    copy_drop_idle(&stack->copy);
    /* Nothing at all was found of a thread that runs something. */
    if (!rc && stack->count == 0 && stack->walk.is_broken)
        rc = ERR_FAULT;
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code stack_read(struct stack *stack, struct code_table *codes,
                         struct call_edges *links)
{
    if (heap_stack_is(stack))
        return heap_stack_read(stack, codes, links);
    return read_until_found(stack, codes, links, copy_read(&stack->copy));
}

static bool glances(const struct stack *stack)
{
    return stack->still >= STACK_STILL_READINGS &&
           stack->still % (STACK_GLANCES_IN_A_ROW + 1) != 0;
}

size_t stack_plan_count(const struct stack *stack)
{
    if (heap_stack_is(stack))
        return heap_frames_plan_count(&stack->heap, glances(stack));
    return copy_plan_count(&stack->copy, glances(stack));
}

size_t stack_plan(struct stack *stack, struct memory_span *spans)
{
    if (heap_stack_is(stack))
        return heap_frames_plan(&stack->heap, glances(stack), spans);
    return copy_plan(&stack->copy, glances(stack), spans);
}

enum err_code stack_finish(struct stack *stack, struct code_table *codes,
                           struct call_edges *links, const struct memory_span *spans,
                           size_t count, size_t arrived)
{
    if (heap_stack_is(stack))
        return heap_stack_finish(stack, codes, links, spans, count, arrived);
    const enum err_code rc = copy_settle(&stack->copy, spans, count, arrived);
    return read_until_found(stack, codes, links, rc);
}
