#include "sampler/cpython/stack.h"

#include <string.h>

#include "sampler/cpython/object.h"

enum { MAX_ATTEMPTS = 6, CHECK_BATCH = 256 };

void stack_init(struct stack *stack, struct memory *memory, const struct layout *layout,
                remote_addr tstate_addr, remote_addr generation_addr)
{
    memset(stack, 0, sizeof *stack);
    copy_init(&stack->copy, memory, layout, tstate_addr, generation_addr);
}

void stack_deinit(struct stack *stack)
{
    copy_deinit(&stack->copy);
    walk_deinit(&stack->a);
    walk_deinit(&stack->b);
}

static bool same_frame(const struct walk_frame *a, const struct walk_frame *b)
{
    return a->addr == b->addr && a->code == b->code;
}

static size_t common_frames(const struct walk *a, const struct walk *b)
{
    const size_t most = a->count < b->count ? a->count : b->count;
    size_t i = 0;
    while (i < most && same_frame(&a->frames[i], &b->frames[i]))
        i++;
    return i;
}

static code_id caller_code(const struct walk *walk, size_t index)
{
    return index ? walk->frames[index - 1].code : CODE_NONE;
}

/* Frames of `walk` whose links from `from` on have been seen for certain. */
static size_t confirmed(const struct walk *walk, size_t from, const struct links *links)
{
    size_t i = from;
    while (i < walk->count && links_has(links, caller_code(walk, i), walk->frames[i].code))
        i++;
    return i;
}

/* What was remembered of the walk before need not be again. */
static void remember(struct stack *stack, size_t count, struct links *links)
{
    const struct walk *const a = &stack->a;
    for (size_t i = stack->remembered; i < count; i++)
        links_add(links, caller_code(a, i), a->frames[i].code);
    if (stack->remembered < count)
        stack->remembered = count;
}

static bool clears_popped_frames(const struct stack *stack)
{
    return LAYOUT_MINOR(stack->copy.layout->version) >= 14;
}

/* Where the calls were made from; of those that are as before it is known. */
static void note_sites(const struct walk *walk, struct links *links)
{
    for (size_t i = walk->same ? walk->same : 1; i < walk->count; i++)
        links_note_site(links, walk->frames[i - 1].code, walk->frames[i].code,
                        walk->frames[i - 1].instr);
}

/* A frame that was not seen waiting (it has moved, or returned) is put where its call was last
 * seen to be made from.  false: for one of them that is not known. */
static bool restore_sites(struct walk *walk, size_t from, const struct links *links)
{
    bool known = true;
    for (size_t i = from; i + 1 < walk->count; i++) {
        struct walk_frame *const frame = &walk->frames[i];
        const remote_addr site = links_site(links, frame->code, walk->frames[i + 1].code);
        known = known && site;
        if (!site || frame->instr == site)
            continue;
        frame->instr = site;
        for (size_t inner = i; inner < walk->count; inner++)
            walk->frames[inner].tag = 0;
    }
    return known;
}

/* Frames that are equal in both readings and were waiting at the same instruction, but for the
 * innermost, which runs. */
static size_t unmoved_frames(const struct walk *a, const struct walk *b, size_t common)
{
    size_t i = 0;
    while (i + 1 < common && a->frames[i].instr == b->frames[i].instr)
        i++;
    return i;
}

static void take(struct stack *stack, const struct walk *walk, size_t count,
                 enum stack_certainty certainty)
{
    stack->frames = walk->frames;
    stack->count = count;
    stack->certainty = certainty;
}

/* Both readings show the same frames: certain, if none of those that wait has moved. */
static void take_equal(struct stack *stack, size_t unmoved, struct links *links)
{
    struct walk *const a = &stack->a;
    const bool stands = unmoved + 1 >= a->count;
    if (stands)
        note_sites(a, links);
    else
        (void)restore_sites(a, unmoved, links);
    take(stack, a, a->count, stands ? STACK_EXACT : STACK_REPAIRED);
}

/* The frames of a walk as far as their links are known. */
static void take_confirmed(struct stack *stack, struct walk *walk, size_t common,
                           size_t unmoved, const struct links *links)
{
    const size_t count = confirmed(walk, common, links);
    (void)restore_sites(walk, unmoved, links);
    take(stack, walk, count, count == walk->count ? STACK_REPAIRED : STACK_TRUNCATED);
}

/* Chooses between the readings where both tell what was live; certain links are remembered. */
static void reconcile(struct stack *stack, struct links *links)
{
    struct walk *const a = &stack->a, *const b = &stack->b;
    const size_t common = common_frames(a, b), unmoved = unmoved_frames(a, b, common);
    const size_t longest = a->count > b->count ? a->count : b->count;
    remember(stack, common, links);
    if (common == longest)
        take_equal(stack, unmoved, links);
    else
        take_confirmed(stack, common * 2 >= longest ? a : b, common, unmoved, links);
}

/* Frames above the one that ran are being put in place or taken away. */
static void cut_above(struct walk *walk, remote_addr running)
{
    for (size_t i = walk->count; i-- > 0;)
        if (walk->frames[i].addr == running)
            walk->count = i + 1;
}

/* Does the walk end at the frame that ran between the readings?  Where that is not known, does
 * it end at the top of the stack? */
static bool leads_there(const struct stack *stack, const struct walk *walk, remote_addr running)
{
    if (walk->count == 0)
        return running == 0;
    return running ? walk->frames[walk->count - 1].addr == running
                   : walk->end == copy_stack_top(&stack->copy);
}

static bool is_confirmed(const struct walk *walk, size_t from, const struct links *links)
{
    return confirmed(walk, from, links) == walk->count;
}

/* Neither reading shows the frame that ran: it came after A and had gone before B.  What it left
 * behind is believed if all its links are known. */
static bool take_remains(struct stack *stack, struct code_table *codes,
                         const struct links *links, size_t common, remote_addr running)
{
    static const enum copy_reading readings[] = { COPY_B, COPY_A };
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        if (walk_reading(&stack->b, &stack->copy, readings[i], WALK_REMAINS, codes))
            return false;
        cut_above(&stack->b, running);
        if (leads_there(stack, &stack->b, running) && is_confirmed(&stack->b, 0, links) &&
            restore_sites(&stack->b, common ? common - 1 : 0, links)) {
            take(stack, &stack->b, stack->b.count, STACK_REPAIRED);
            return true;
        }
    }
    return false;
}

/* Before 3.14 the readings do not mark what was popped, and loose frames are read a little apart
 * from the others in every version; but the thread state between the readings says which frame
 * ran: the one that leads there is to be believed. */
static void reconcile_by_running(struct stack *stack, struct code_table *codes,
                                 struct links *links)
{
    struct walk *const a = &stack->a, *const b = &stack->b;
    const remote_addr running = copy_frame_between(&stack->copy);
    cut_above(a, running);
    cut_above(b, running);
    const size_t common = common_frames(a, b), unmoved = unmoved_frames(a, b, common);
    remember(stack, common, links);
    if (common == a->count && common == b->count && leads_there(stack, a, running))
        take_equal(stack, unmoved, links);
    else if (leads_there(stack, a, running) && is_confirmed(a, common, links))
        take_confirmed(stack, a, common, unmoved, links);
    else if (leads_there(stack, b, running) && is_confirmed(b, common, links))
        take_confirmed(stack, b, common, unmoved, links);
    else if (!take_remains(stack, codes, links, common, running))
        take_confirmed(stack, a, common, unmoved, links);
}

enum { MAX_LOOSE_IN_A_ROW = 1024 };

/* The frame at addr and those it was called from, up to one that is copied already.  What is not
 * readable now is no frame: a stale pointer led there. */
static enum err_code learn(struct copy *copy, remote_addr addr, bool *learned)
{
    unsigned char trial[LAYOUT_MAX_FRAME_BYTES];
    for (int i = 0; i < MAX_LOOSE_IN_A_ROW; i++) {
        if (addr == 0 || copy_in_chunks(copy, addr) || copy_loose(copy, COPY_A, addr) ||
            memory_read(copy->memory, addr, trial, copy->layout->frame_bytes))
            return ERR_OK;
        const enum err_code rc = copy_add_loose(copy, addr);
        if (rc)
            return rc == ERR_LIMIT ? ERR_OK : rc;
        *learned = true;
        addr = field_u64(trial, copy->layout->frame_previous);
    }
    return ERR_OK;
}

/* The frame that runs, or the first one on the way from it to the chunks that is not copied. */
static enum err_code learn_chain(struct copy *copy, remote_addr addr, bool *learned)
{
    for (int i = 0; i < MAX_LOOSE_IN_A_ROW && addr && !copy_in_chunks(copy, addr); i++) {
        const unsigned char *const a = copy_loose(copy, COPY_A, addr);
        const unsigned char *const b = copy_loose(copy, COPY_B, addr);
        if (!a || !b)
            return learn(copy, addr, learned);
        addr = field_u64(a, copy->layout->frame_previous);
        /* Where they differ, one of them is what lay there before or after. */
        if (addr != field_u64(b, copy->layout->frame_previous))
            return ERR_OK;
    }
    return ERR_OK;
}

static enum err_code learn_unknown(struct copy *copy, const struct walk *walk, bool *learned)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < walk->unknown_count && !rc; i++)
        rc = learn(copy, walk->unknown[i], learned);
    return rc;
}

/* Loose frames that are not copied yet: those met on the way, and the one that runs. */
static enum err_code learn_loose(struct stack *stack, bool *learned)
{
    remote_addr current;
    enum err_code rc = copy_current_frame(&stack->copy, &current);
    if (!rc)
        rc = learn_chain(&stack->copy, current, learned);
    if (!rc)
        rc = learn_unknown(&stack->copy, &stack->a, learned);
    if (!rc)
        rc = learn_unknown(&stack->copy, &stack->b, learned);
    return rc;
}

static bool generation_stands(struct stack *stack)
{
    return stack->copy.generation_addr && stack->copy.generation == stack->generation;
}

static bool check_codes(struct stack *stack, struct code_table *codes, size_t from)
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

/* What was read before it was checked may have been another code object by then. */
static bool codes_are_fresh(struct stack *stack, struct code_table *codes)
{
    const bool uses_a = stack->frames == stack->a.frames;
    size_t from = 0;
    if (!generation_stands(stack))
        code_begin_epoch(codes);
    else if (uses_a)
        from = stack->checked;
    stack->generation = stack->copy.generation;
    const bool fresh = check_codes(stack, codes, from);
    stack->checked = fresh && uses_a ? stack->count : 0;
    return fresh;
}

/* Every byte is as it was and what it points to is too: the stack is the one we have. */
static bool is_unchanged(struct stack *stack, struct code_table *codes)
{
    if (!copy_is_unchanged(&stack->copy))
        return false;
    if (generation_stands(stack))
        return true;
    code_begin_epoch(codes);
    stack->generation = stack->copy.generation;
    return check_codes(stack, codes, 0);
}

/* What was known of leading frames holds as far as the new walk has the same code. */
static void limit_known(struct stack *stack)
{
    if (stack->remembered > stack->a.same_codes)
        stack->remembered = stack->a.same_codes;
    if (stack->checked > stack->a.same_codes)
        stack->checked = stack->a.same_codes;
}

/* Finds the stack in what has been read.  *again_out: predictions were wrong or code objects new;
 * what there is now can be bettered by another attempt. */
static enum err_code find_stack(struct stack *stack, struct code_table *codes,
                                struct links *links, bool *again_out)
{
    bool fits;
    *again_out = true;
    stack->is_unchanged = false;
    enum err_code rc = copy_fits(&stack->copy, &fits);
    if (rc)
        return rc;
    if (!fits)
        return ERR_FAULT;
    if (is_unchanged(stack, codes)) {
        stack->is_unchanged = true;
        stack->certainty = STACK_EXACT;
        *again_out = false;
        return ERR_OK;
    }
    stack->tag = 0;
    stack->copy.has_last = false;
    rc = walk_reading(&stack->a, &stack->copy, COPY_A, WALK_LIVE, codes);
    limit_known(stack);
    if (!rc)
        rc = walk_reading(&stack->b, &stack->copy, COPY_B, WALK_LIVE, codes);
    if (rc)
        return rc;
    *again_out = stack->a.loaded || stack->b.loaded;
    rc = learn_loose(stack, again_out);
    if (rc)
        return rc;
    if (clears_popped_frames(stack) && !stack->a.has_loose && !stack->b.has_loose)
        reconcile(stack, links);
    else
        reconcile_by_running(stack, codes, links);
    if (stack->frames == stack->a.frames ? stack->a.is_cut : stack->b.is_cut)
        stack->certainty = STACK_TRUNCATED;
    if (!codes_are_fresh(stack, codes)) {
        *again_out = true;
        return ERR_CORRUPT;
    }
    if (!*again_out && stack->certainty == STACK_EXACT)
        copy_keep(&stack->copy);
    return ERR_OK;
}

/* `first`: what became of the reading that has been made already. */
static enum err_code read_until_found(struct stack *stack, struct code_table *codes,
                                      struct links *links, enum err_code first)
{
    enum err_code rc = first;
    for (int i = 0; i < MAX_ATTEMPTS; i++) {
        bool again = true;
        if (i > 0)
            rc = copy_read(&stack->copy);
        if (!rc)
            rc = find_stack(stack, codes, links, &again);
        if (rc && rc != ERR_FAULT && rc != ERR_CORRUPT)
            return rc;
        if (!rc && !again) {
            if (i > 0 && stack->certainty == STACK_EXACT)
                stack->certainty = STACK_RETRIED;
            break;
        }
        /* The last attempt's stack is used as it is: better repaired than dropped. */
        if (!rc && i + 1 == MAX_ATTEMPTS && stack->certainty == STACK_EXACT)
            stack->certainty = STACK_REPAIRED;
    }
    copy_drop_idle(&stack->copy);
    stack->still = !rc && stack->is_unchanged ? stack->still + 1 : 0;
    return rc;
}

enum err_code stack_read(struct stack *stack, struct code_table *codes, struct links *links)
{
    return read_until_found(stack, codes, links, copy_read(&stack->copy));
}

static bool glances(const struct stack *stack)
{
    /* Where there is nothing to glance at, there would be nothing to see either. */
    return stack->copy.has_last && stack->copy.chunk_count &&
           stack->still >= STACK_STILL_READINGS &&
           stack->still % (STACK_GLANCES_IN_A_ROW + 1) != 0;
}

size_t stack_plan_count(const struct stack *stack)
{
    return glances(stack) ? copy_glance_count(&stack->copy) : copy_plan_count(&stack->copy);
}

void stack_plan(struct stack *stack, struct memory_span *spans)
{
    if (glances(stack))
        copy_plan_glance(&stack->copy, spans);
    else
        copy_plan(&stack->copy, spans);
}

enum err_code stack_finish(struct stack *stack, struct code_table *codes, struct links *links,
                           const struct memory_span *spans, size_t count, size_t arrived)
{
    if (!glances(stack))
        return read_until_found(stack, codes, links,
                                copy_settle(&stack->copy, spans, count, arrived));
    if (!copy_settle(&stack->copy, spans, count, arrived) &&
        copy_glance_is_same(&stack->copy)) {
        stack->is_unchanged = true;
        stack->certainty = STACK_EXACT;
        stack->still++;
        return ERR_OK;
    }
    stack->still = 0;
    return stack_read(stack, codes, links);
}
