#include "sampler/native/unwind.h"

#include <string.h>

#include "sampler/native/frame_state.h"

enum {
    ANCHOR_MIN_CONFIRMATIONS = 2,
    ANCHOR_MAX_CONFIRMATIONS = 8,
    STUB_BYTES = 64,       /* of code */
    LEAF_BYTES = 256,      /* of the code of a function that other files call */
    RECORD_BYTES = 16,     /* of stack: the caller's frame pointer, and the return address */
    GENERATED_BYTES = 128, /* of stack that generated code may use */
    ENTRY_BYTES = 4096,    /* of stack from an entry frame to the end of its function's frame */
    START_BYTES = 512,     /* of stack, and of the thread's own variables above it */
    TRAMPOLINE_BYTES = 16, /* of stack: the return address, and a word that aligns the stack */
};

struct walker {
    struct unwinder *unwinder;
    struct frame_state state;
    const remote_addr *entries;
    size_t entry_count, next_entry;
    uint64_t now_ns;
    struct image *image; /* of the frame before; NULL: unknown */
    bool has_refreshed;
    bool lacks_table; /* a frame was left without one, so registers are unknown */
    unsigned signals;
    struct native_walk *walk;
};

const char *native_end_text(enum native_end end)
{
    static const char *const texts[] = {
#define X(name, text) text,
        NATIVE_ENDS(X)
#undef X
    };
    return end < NATIVE_ENDS_COUNT ? texts[end] : "?";
}

enum err_code unwinder_init(struct unwinder *unwinder, struct memory *memory, int pid,
                            struct err *err)
{
    memset(unwinder, 0, sizeof *unwinder);
    images_init(&unwinder->images, pid);
    rules_init(&unwinder->rules);
    enum err_code rc = blocks_init(&unwinder->blocks, memory, err);
    if (!rc)
        rc = rule_cache_init(&unwinder->cache, err);
    if (rc)
        unwinder_deinit(unwinder);
    return rc;
}

void unwinder_deinit(struct unwinder *unwinder)
{
    images_deinit(&unwinder->images);
    blocks_deinit(&unwinder->blocks);
    rules_deinit(&unwinder->rules);
    rule_cache_deinit(&unwinder->cache);
    memset(unwinder, 0, sizeof *unwinder);
}

size_t unwinder_bytes(const struct unwinder *unwinder)
{
    return sizeof *unwinder + images_bytes(&unwinder->images) + blocks_bytes() +
           rules_bytes(&unwinder->rules) + rule_cache_bytes(&unwinder->cache);
}

enum err_code unwinder_take_maps(struct unwinder *unwinder, const struct maps *maps)
{
    bool has_changed = false;
    const enum err_code rc = images_update(&unwinder->images, maps, &has_changed);
    if (has_changed)
        blocks_clear(&unwinder->blocks);
    return rc;
}

static void refresh_images(struct unwinder *unwinder, uint64_t now_ns, bool is_wanted)
{
    bool has_changed;
    /* A process whose list cannot be read keeps the images that it had. */
    (void)!images_refresh(&unwinder->images, now_ns, is_wanted, &has_changed);
    if (has_changed)
        blocks_clear(&unwinder->blocks);
}

/* The image of an address.  One that is new makes the walker read the list of images, once. */
static struct image *image_at(struct walker *walker, remote_addr addr)
{
    struct images *const images = &walker->unwinder->images;
    if (walker->image && addr >= walker->image->start && addr < walker->image->end)
        return walker->image;
    walker->image = images_find(images, addr);
    if (!walker->image && !walker->has_refreshed) {
        walker->has_refreshed = true;
        refresh_images(walker->unwinder, walker->now_ns, true);
        walker->image = images_find(images, addr);
    }
    return walker->image;
}

/* Is it an address in a loaded file, right behind a call?  *called_out: the called function, if the call
 * names it; otherwise 0. */
static bool is_return_address(const struct walker *walker, remote_addr addr,
                              remote_addr *called_out)
{
    unsigned char code[MACHINE_CALL_BYTES];
    struct unwinder *const unwinder = walker->unwinder;
    struct image *const image = images_find(&unwinder->images, addr - 1);
    if (!image || addr - image->start < sizeof code || addr % MACHINE_CODE_ALIGNMENT)
        return false;
    images_examine(image, &unwinder->blocks);
    if (image->state != IMAGE_ELF ||
        blocks_read(&unwinder->blocks, addr - sizeof code, code, sizeof code) ||
        !machine_ends_with_call(code))
        return false;
    *called_out = machine_called(code, addr);
    return true;
}

/* Reads the rule of an address from the tables of its image. */
static struct rule read_rule(struct unwinder *unwinder, struct image *image, remote_addr pc,
                             remote_addr *function_out)
{
    unsigned char code[MACHINE_SIGNAL_RETURN_BYTES];
    struct rule rule = rule_initial;
    enum err_code rc = ERR_OK;
    *function_out = 0;
    if (image->has_tables) {
        rc = cfi_find(&unwinder->blocks, &image->tables, pc, &rule, function_out);
        unwinder->corrupt += rc == ERR_CORRUPT;
    }
    /* Some C libraries describe no code that is written in assembly.  pc is in front of it: a signal
     * handler returns to its first instruction. */
    const bool may_be_signal =
        rule.kind == RULE_NONE || (rule.is_interrupted && rule.kind != RULE_SIGNAL);
    if (may_be_signal && image->end - pc > sizeof code &&
        !blocks_read(&unwinder->blocks, pc + 1, code, sizeof code) &&
        machine_is_signal_return(code)) {
        rule = rule_initial;
        rule.kind = RULE_SIGNAL;
        rule.is_interrupted = true;
    }
    if (rule.kind == RULE_NONE && (rc || *function_out))
        rule.kind = RULE_STRANGE;
    return rule;
}

static struct rule rule_at(struct unwinder *unwinder, struct image *image, remote_addr pc,
                           remote_addr *function_out)
{
    struct rule_place place = { .image = image->id, .into_function = UINT32_MAX };
    unwinder->lookups++;
    place.offset = (uint32_t)(pc - image->start);
    const bool fits = pc - image->start <= UINT32_MAX;
    const struct rule_place *const known =
        fits ? rule_cache_find(&unwinder->cache, place.image, place.offset) : NULL;
    if (known) {
        *function_out = known->into_function == UINT32_MAX ? 0 : pc - known->into_function;
        return unwinder->rules.items[known->rule];
    }
    unwinder->misses++;
    images_examine(image, &unwinder->blocks);
    const struct rule rule = read_rule(unwinder, image, pc, function_out);
    if (*function_out && pc - *function_out < UINT32_MAX)
        place.into_function = (uint32_t)(pc - *function_out);
    if (fits && image->state != IMAGE_NEW && unwinder->blocks.budget) {
        /* Remembers a rule; without room for it, forgets the others. */
        enum err_code rc = rules_intern(&unwinder->rules, &rule, &place.rule);
        if (rc == ERR_LIMIT) {
            rules_clear(&unwinder->rules);
            rule_cache_clear(&unwinder->cache);
            rc = rules_intern(&unwinder->rules, &rule, &place.rule);
        }
        if (!rc)
            rule_cache_add(&unwinder->cache, &place);
    }
    return rule;
}

static struct native_frame *push_frame(struct native_walk *walk)
{
    struct native_frame *const frame = &walk->frames[walk->count++];
    *frame = (struct native_frame){ .left_by = NATIVE_NOT_LEFT };
    return frame;
}

/* The frame ends at cfa, above its return address. */
static enum native_end leave_frame(struct walker *walker, struct native_frame *frame,
                                   const struct rule *rule, remote_addr cfa,
                                   enum native_left_by by)
{
    struct frame_state *const state = &walker->state;
    remote_addr return_address, called;
    if (!frame_state_may_end_at(state, cfa))
        return NATIVE_CONTRADICTION;
    frame->cfa = cfa;
    const enum native_end end = frame_state_return_address(state, rule, cfa, &return_address);
    if (end)
        return end;
    if (state->is_sp_below && !is_return_address(walker, return_address, &called))
        return NATIVE_NO_REGISTER;
    frame_state_leave(state, rule, cfa, return_address);
    frame->left_by = by;
    if (return_address)
        return NATIVE_GOES_ON;
    /* A thread may mark its first frame by zeros where the caller's address and bp would be. */
    return state->known >> MACHINE_FP & 1 && state->saved[MACHINE_FP] == 0
               ? NATIVE_COMPLETE
               : NATIVE_CONTRADICTION;
}

static bool is_near(const struct walker *walker, remote_addr function, uint64_t bytes)
{
    const remote_addr ip = walker->state.ip;
    return function && function <= ip && ip - function < bytes;
}

/* A short function without a table, which has pushed nothing: its return address is behind a call of it.  Such are
 * stubs, and what musl has in assembly: memcpy, memset. */
static bool is_leaf(const struct walker *walker)
{
    const struct frame_state *const state = &walker->state;
    remote_addr word, called;
    return state->is_exact &&
           !frame_state_return_address(state, &rule_initial, state->sp + MACHINE_RETURN_BYTES,
                                       &word) &&
           is_return_address(walker, word, &called) && called &&
           (is_near(walker, called, STUB_BYTES) ||
            is_near(walker, blocks_stub_target(&walker->unwinder->blocks, called), LEAF_BYTES));
}

/* Reads what the frame pointer leads to: the caller's, below the return address. */
static bool read_record(const struct frame_state *state, uint64_t *next_fp_out,
                        remote_addr *return_address_out)
{
    const uint64_t fp = state->saved[MACHINE_FP];
    uint64_t word;
    if (!(state->known >> MACHINE_FP & 1) || fp < state->sp || fp % 8 != 0 ||
        fp > UINT64_MAX - RECORD_BYTES || frame_state_read(state, fp, next_fp_out) ||
        frame_state_read(state, fp + 8, &word))
        return false;
    *return_address_out = machine_address(word);
    return true;
}

/* Code without tables that follows the convention.  If return addresses are in a register, such a record may lie
 * anywhere in the frame. */
static enum native_end leave_by_frame_pointer(struct walker *walker, struct native_frame *frame)
{
    struct frame_state *const state = &walker->state;
    const uint64_t fp = state->saved[MACHINE_FP];
    uint64_t next_fp;
    remote_addr return_address, called;
    struct rule rule = rule_lost;
    rule.saved[MACHINE_FP] = -RECORD_BYTES;
    if (!MACHINE_RETURN_BYTES)
        rule.saved[MACHINE_RETURN_ADDRESS] = 8 - RECORD_BYTES;
    if (!read_record(state, &next_fp, &return_address) || next_fp <= fp ||
        !is_return_address(walker, return_address, &called))
        return NATIVE_NO_RULE;
    const enum native_end end =
        leave_frame(walker, frame, &rule, fp + RECORD_BYTES, NATIVE_LEFT_BY_FRAME_POINTER);
    state->is_sp_below = !MACHINE_RETURN_BYTES;
    return end;
}

/* Code without tables that has called nothing, or has saved nothing yet: the return address is in its register if that is in
 * code that has tables.  How much of the stack it uses is unknown. */
static enum native_end leave_by_register(struct walker *walker, struct native_frame *frame)
{
    struct frame_state *const state = &walker->state;
    struct rule rule = rule_lost;
    uint64_t next_fp;
    remote_addr return_address, saved, called, function;
    if (MACHINE_RETURN_BYTES > 0 || !state->is_exact ||
        frame_state_return_address(state, &rule_initial, state->sp, &return_address) ||
        !is_return_address(walker, return_address, &called) ||
        (read_record(state, &next_fp, &saved) && saved == return_address))
        return NATIVE_NO_RULE;
    struct image *const image = image_at(walker, return_address - 1);
    if (!image)
        return NATIVE_NO_RULE;
    const struct rule caller = rule_at(walker->unwinder, image, return_address - 1, &function);
    if (caller.kind == RULE_NONE || caller.kind == RULE_STRANGE)
        return NATIVE_NO_RULE;
    rule.saved[MACHINE_FP] = rule.saved[MACHINE_RETURN_ADDRESS] = RULE_UNCHANGED;
    const enum native_end end =
        leave_frame(walker, frame, &rule, state->sp, NATIVE_LEFT_BY_CALL);
    state->is_sp_below = true;
    return end;
}

/* Has the frame of these registers an entry frame of Python in it, and a return address at its end? */
static bool holds_entry(const struct walker *walker, const struct frame_state *state,
                        const struct rule *rule, remote_addr entry)
{
    remote_addr cfa, called;
    uint64_t word;
    return !frame_state_cfa(state, rule, &cfa) && cfa > entry && cfa - entry < ENTRY_BYTES &&
           !frame_state_read(state, cfa - 8, &word) && is_return_address(walker, word, &called);
}

/* Generated code that keeps no frame pointer, as CPython's JIT does until 3.14.  It was called by its address, which pushed the
 * return address, from the function that holds the next entry frame.  The table of that function says so of the first return address
 * behind such a call, if bp is as it was, or saved below that address. */
static enum native_end leave_to_entry(struct walker *walker, struct native_frame *frame)
{
    const struct frame_state *const state = &walker->state;
    struct rule left = rule_lost;
    size_t next = walker->next_entry;
    uint64_t word;
    remote_addr called, function;
    if (!MACHINE_RETURN_BYTES)
        return NATIVE_NO_RULE;
    while (next < walker->entry_count && walker->entries[next] < state->sp)
        next++;
    const remote_addr entry = next < walker->entry_count ? walker->entries[next] : 0;
    for (remote_addr at = state->sp; at < entry && at - state->sp < GENERATED_BYTES; at += 8) {
        if (frame_state_read(state, at, &word) || !is_return_address(walker, word, &called) ||
            called)
            continue;
        struct image *const image = image_at(walker, word - 1);
        if (!image)
            continue;
        const struct rule rule = rule_at(walker->unwinder, image, word - 1, &function);
        struct frame_state caller = *state;
        caller.sp = at + 8;
        caller.known &= 1 << MACHINE_FP;
        left.saved[MACHINE_FP] = RULE_UNCHANGED;
        bool is_found = holds_entry(walker, &caller, &rule, entry);
        for (remote_addr slot = state->sp; !is_found && slot < at; slot += 8) {
            if (frame_state_read(state, slot, &caller.saved[MACHINE_FP]))
                continue;
            caller.known = 1 << MACHINE_FP;
            left.saved[MACHINE_FP] = (machine_offset)((int64_t)slot - (int64_t)caller.sp);
            is_found = holds_entry(walker, &caller, &rule, entry);
        }
        if (is_found)
            return leave_frame(walker, frame, &left, caller.sp, NATIVE_LEFT_TO_ENTRY);
    }
    return NATIVE_NO_RULE;
}

/* The trampolines of `-X perf` call the evaluation function.  Where a call pushes the return address, they leave one word
 * between sp and it: an empty one, or the saved bp; their first instruction leaves none.  Otherwise sp is their frame
 * pointer. */
static enum native_end leave_trampoline(struct walker *walker, struct native_frame *frame)
{
    const struct frame_state *const state = &walker->state;
    struct rule rule = rule_initial;
    uint64_t word;
    remote_addr return_address, called;
    if (!MACHINE_RETURN_BYTES) {
        rule.saved[MACHINE_FP] = -RECORD_BYTES;
        rule.saved[MACHINE_RETURN_ADDRESS] = 8 - RECORD_BYTES;
        if (state->saved[MACHINE_FP] != state->sp ||
            !read_record(state, &word, &return_address) ||
            !is_return_address(walker, return_address, &called))
            return NATIVE_NO_RULE;
        return leave_frame(walker, frame, &rule, state->sp + RECORD_BYTES,
                           NATIVE_LEFT_BY_TRAMPOLINE);
    }
    for (remote_addr bytes = TRAMPOLINE_BYTES; bytes; bytes -= 8) {
        if (bytes > UINT64_MAX - state->sp || (!state->is_exact && bytes < TRAMPOLINE_BYTES) ||
            frame_state_read(state, state->sp + bytes - 8, &word) ||
            !is_return_address(walker, word, &called))
            continue;
        if (bytes == TRAMPOLINE_BYTES && state->saved[MACHINE_FP] == state->sp)
            rule.saved[MACHINE_FP] = -16;
        return leave_frame(walker, frame, &rule, state->sp + bytes, NATIVE_LEFT_BY_TRAMPOLINE);
    }
    return NATIVE_NO_RULE;
}

/* musl describes none of its code, so not what starts a program or a thread either.  That has called
 * what was met before, and has little of the stack above it. */
static bool starts_here(const struct walker *walker)
{
    const struct native_walk *const walk = walker->walk;
    const remote_addr sp = walker->state.sp, base = walker->state.stack->base;
    return walk->count > 1 && walk->frames[walk->count - 2].left_by == NATIVE_LEFT_BY_TABLE &&
           base && sp <= base && base - sp <= START_BYTES;
}

/* A thread waits in a function that has saved nothing, and only its stack is known, so the return address is not.  If its
 * caller's record is there, that leads to the caller's caller, whose call names the caller. */
static enum native_end leave_waiting(struct walker *walker, struct native_frame *frame)
{
    struct frame_state *const state = &walker->state;
    struct blocks *const blocks = &walker->unwinder->blocks;
    uint64_t next_fp;
    remote_addr return_address, called, function;
    if (MACHINE_RETURN_BYTES > 0)
        return NATIVE_CONTRADICTION;
    state->saved[MACHINE_FP] = state->sp;
    state->known = 1u << MACHINE_FP;
    if (!read_record(state, &next_fp, &return_address) ||
        !is_return_address(walker, return_address, &called) || !called)
        return NATIVE_NO_REGISTER;
    const remote_addr linked = blocks_stub_target(blocks, called);
    const remote_addr caller = linked ? linked : called;
    struct image *const image = image_at(walker, caller);
    if (!image)
        return NATIVE_NO_REGISTER;
    (void)rule_at(walker->unwinder, image, caller, &function);
    if (function != caller)
        return NATIVE_NO_REGISTER;
    if (walker->walk->count == walker->walk->room)
        return NATIVE_DEEP;
    frame->cfa = state->sp;
    frame->left_by = NATIVE_LEFT_BY_CALL;
    struct native_frame *const next = push_frame(walker->walk);
    *next = (struct native_frame){ .left_by = NATIVE_NOT_LEFT,
                                   .is_exact = true,
                                   .image = image->id,
                                   .pc = caller,
                                   .function = caller,
                                   .sp = state->sp };
    const enum native_end end = leave_by_frame_pointer(walker, next);
    return end == NATIVE_NO_RULE ? NATIVE_NO_REGISTER : end;
}

/* Adds the frame of the state, and makes the state its caller's. */
static enum native_end step_outwards(struct walker *walker)
{
    struct frame_state *const state = &walker->state;
    const remote_addr pc = state->ip - !state->is_exact;
    remote_addr cfa;
    if (walker->walk->count == walker->walk->room)
        return NATIVE_DEEP;
    struct native_frame *const frame = push_frame(walker->walk);
    frame->pc = state->ip;
    frame->is_exact = state->is_exact;
    frame->sp = state->sp;
    struct image *const image = image_at(walker, pc);
    if (!image)
        return NATIVE_NO_IMAGE;
    frame->image = image->id;
    if (image->state == IMAGE_ANONYMOUS) {
        walker->lacks_table = true;

        enum native_end end = leave_by_register(walker, frame);
        if (end == NATIVE_NO_RULE)
            end = leave_trampoline(walker, frame);
        if (end == NATIVE_NO_RULE)
            end = leave_by_frame_pointer(walker, frame);
        return end == NATIVE_NO_RULE ? leave_to_entry(walker, frame) : end;
    }
    const struct rule rule = rule_at(walker->unwinder, image, pc, &frame->function);
    if (!walker->unwinder->blocks.budget)
        return NATIVE_COSTLY;
    if (rule.kind == RULE_END)
        return NATIVE_COMPLETE;
    if (rule.kind == RULE_SIGNAL) {
        if (walker->signals++ == UNWIND_MAX_SIGNALS)
            return NATIVE_DEEP;
        const enum native_end end = frame_state_leave_signal(state);
        if (end)
            return end;
        /* A handler with a stack of its own: the frames do not follow each other. */
        frame->cfa = state->sp > frame->sp ? state->sp : frame->sp;
        frame->left_by = NATIVE_LEFT_BY_TABLE;
        return NATIVE_GOES_ON;
    }
    if (rule.kind == RULE_NONE || rule.kind == RULE_STRANGE) {
        walker->lacks_table = walker->lacks_table || rule.kind == RULE_NONE;
        if (is_leaf(walker))
            return leave_frame(walker, frame, &rule_initial,
                               walker->state.sp + MACHINE_RETURN_BYTES, NATIVE_LEFT_BY_CALL);
        enum native_end end = leave_by_register(walker, frame);
        if (end == NATIVE_NO_RULE)
            end = leave_by_frame_pointer(walker, frame);
        if (end == NATIVE_NO_RULE && rule.kind == RULE_NONE && starts_here(walker))
            return NATIVE_COMPLETE;
        return end == NATIVE_NO_RULE && rule.kind == RULE_STRANGE ? NATIVE_STRANGE_RULE : end;
    }
    const enum native_end end = frame_state_cfa(state, &rule, &cfa);
    if (end)
        return end;
    if (cfa == state->sp && state->is_exact && state->known == 0)
        return leave_waiting(walker, frame);
    return leave_frame(walker, frame, &rule, cfa, NATIVE_LEFT_BY_TABLE);
}

/* Goes on behind the frame of the evaluation function that holds the next entry frame. */
static bool restart_at_entry(struct walker *walker)
{
    const struct native_anchor *const anchor = &walker->unwinder->anchor;
    struct frame_state *const state = &walker->state;
    struct native_walk *const walk = walker->walk;
    uint64_t return_address, called;
    if (anchor->confirmations < ANCHOR_MIN_CONFIRMATIONS || walk->room - walk->count < 2)
        return false;
    for (; walker->next_entry < walker->entry_count; walker->next_entry++) {
        const remote_addr entry = walker->entries[walker->next_entry];
        const remote_addr cfa = entry + anchor->distance;
        if (entry < state->sp || !frame_state_may_end_at(state, cfa) ||
            frame_state_return_address(state, &anchor->rule, cfa, &return_address) ||
            !is_return_address(walker, return_address, &called))
            continue;
        struct native_frame *const gap = push_frame(walk);
        gap->kind = NATIVE_GAP;
        gap->sp = state->sp;
        gap->cfa = entry;
        walk->gaps++;
        struct native_frame *const frame = push_frame(walk);
        frame->kind = NATIVE_ENTRY;
        frame->image = anchor->image;
        frame->pc = frame->function = anchor->function;
        frame->is_exact = true;
        frame->sp = entry;
        /* The frame may have saved its registers below the entry frame. */
        state->known = 0;
        state->is_exact = state->is_sp_below = false;
        walker->next_entry++;
        return leave_frame(walker, frame, &anchor->rule, cfa, NATIVE_LEFT_BY_TABLE) ==
               NATIVE_GOES_ON;
    }
    return false;
}

/* Takes from a complete stack how far the innermost entry frame is from the end of its function's frame. */
static void learn_anchor(struct walker *walker)
{
    struct native_anchor *const anchor = &walker->unwinder->anchor;
    const struct native_walk *const walk = walker->walk;
    const remote_addr entry = walker->entry_count ? walker->entries[0] : 0;
    size_t i = 1;
    while (i < walk->count && !(walk->frames[i].sp <= entry && entry < walk->frames[i].cfa))
        i++;
    if (!entry || i >= walk->count || walk->frames[i].left_by != NATIVE_LEFT_BY_TABLE ||
        walk->frames[i].is_exact || !walk->frames[i].function)
        return;
    const struct native_frame *const frame = &walk->frames[i];
    const uint64_t distance = frame->cfa - entry;
    struct image *const image = images_find(&walker->unwinder->images, frame->pc - 1);
    if (distance == anchor->distance && frame->image == anchor->image) {
        anchor->confirmations += anchor->confirmations < ANCHOR_MAX_CONFIRMATIONS;
    } else if (anchor->confirmations > 0) {
        anchor->confirmations--;
    } else if (image) {
        *anchor = (struct native_anchor){ .distance = distance,
                                          .image = frame->image,
                                          .confirmations = 1 };
        anchor->rule = rule_at(walker->unwinder, image, frame->pc - 1, &anchor->function);
    }
}

void unwinder_walk(struct unwinder *unwinder, const struct native_registers *registers,
                   const struct native_stack *stack, const remote_addr *entries,
                   size_t entry_count, uint64_t now_ns, struct native_walk *walk)
{
    struct walker walker = { .unwinder = unwinder,
                             .entries = entries,
                             .entry_count = entry_count,
                             .now_ns = now_ns,
                             .walk = walk };
    frame_state_init(&walker.state, registers, stack);
    walk->count = walk->gaps = 0;
    unwinder->blocks.budget = UNWIND_BUDGET;
    refresh_images(unwinder, now_ns, unwinder->is_suspect);
    walk->cause = NATIVE_COMPLETE;
    do {
        while ((walk->end = step_outwards(&walker)) == NATIVE_GOES_ON)
            continue;
        if (walk->cause == NATIVE_COMPLETE)
            walk->cause = walk->end == NATIVE_NO_REGISTER && walker.lacks_table ? NATIVE_NO_RULE
                                                                                : walk->end;
    } while (walk->end != NATIVE_COMPLETE && walk->end != NATIVE_DEEP &&
             walk->end != NATIVE_COSTLY && restart_at_entry(&walker));
    unwinder->is_suspect = walk->end == NATIVE_NO_IMAGE || walk->end == NATIVE_CONTRADICTION;
    unwinder->ends[walk->end]++;
    if (walk->end == NATIVE_COMPLETE && walk->gaps == 0)
        learn_anchor(&walker);
}
