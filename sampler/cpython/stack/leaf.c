#include "sampler/cpython/stack/leaf.h"

#include <string.h>

enum {
    WORD = sizeof(uint64_t),
    MAX_SLOTS = 2,
    NLOCALSPLUS_AFTER_FIRSTLINENO = 4,
    HANDLERS_AFTER_LENGTH = 24, /* of a code object: constants and names come before them */
    /* From these minors on. */
    CALLABLE_IS_FIRST = 13,
    CALLERS_STAND_AT_THE_CALL = 13,
    TOP_IS_KEPT = 14,
    KEYWORDS_ARE_ALWAYS_THERE = 14,
};

/* References on the value stack have a tag in their low bits. */
static const uint64_t TAG_MASK = 7;

/* What is known of an instruction. */
struct place_look {
    uint8_t opcode; /* the form last seen */
    bool has_opcode;
    uint8_t back;  /* so many units before the place its instruction begins */
    uint8_t slots; /* in which the callable may be; 0: calls nothing */
    int32_t slot;  /* the first of them, in words from the start of the locals */
    int32_t top;   /* of the value stack before the call, likewise */
    uint32_t uses;
};

/* What one reading says of the innermost frame. */
struct sight {
    uint64_t instr, top;
    uint64_t slots[MAX_SLOTS];
};

void leaves_init(struct leaves *leaves, struct memory *memory, const struct layout *layout,
                 struct code_table *codes, struct strtab *strings)
{
    memset(leaves, 0, sizeof *leaves);
    leaves->memory = memory;
    leaves->layout = layout;
    leaves->codes = codes;
    leaves->opcodes = opcodes_of(layout->version);
    if (leaves->opcodes) {
        leaves->call = opcodes_find(leaves->opcodes, "CALL");
        leaves->precall = opcodes_find(leaves->opcodes, "PRECALL");
        leaves->call_kw = opcodes_find(leaves->opcodes, "CALL_KW");
        leaves->call_function_ex = opcodes_find(leaves->opcodes, "CALL_FUNCTION_EX");
    }
    callee_table_init(&leaves->callees, memory, layout, strings);
    pool_init(&leaves->places, sizeof(struct place_look), LEAF_MAX_PLACES);
    links_init(&leaves->pairs);
}

void leaves_deinit(struct leaves *leaves)
{
    callee_table_deinit(&leaves->callees);
    pool_deinit(&leaves->places);
    links_deinit(&leaves->pairs);
    object_bytes_deinit(&leaves->units);
    object_bytes_deinit(&leaves->handlers);
}

void leaves_clear(struct leaves *leaves)
{
    const bool wants_opcodes = leaves->wants_opcodes;
    struct strtab *const strings = leaves->callees.strings;
    leaves_deinit(leaves);
    leaves_init(leaves, leaves->memory, leaves->layout, leaves->codes, strings);
    leaves->wants_opcodes = wants_opcodes;
}

static uint32_t minor_of(const struct leaves *leaves)
{
    return LAYOUT_MINOR(leaves->layout->version);
}

static bool is_call(const struct leaves *leaves, int base)
{
    return base == leaves->call || base == leaves->precall || base == leaves->call_kw ||
           base == leaves->call_function_ex;
}

/* Where the callable of a call lies.  3.11 and 3.12 have a method and the object, or nothing and
 * the callable; from 3.13 on it is the callable, and the object or nothing. */
static void set_slots(const struct leaves *leaves, const struct instruction *at, int32_t locals,
                      struct place_look *look)
{
    const uint32_t minor = minor_of(leaves);
    const int32_t oparg = (int32_t)at->oparg;
    int32_t depth = at->depth, below;
    look->slots = 1;
    if (at->opcode == leaves->call_function_ex) {
        below = minor >= KEYWORDS_ARE_ALWAYS_THERE ? 4
                : minor >= CALLABLE_IS_FIRST       ? 3 + (oparg & 1)
                                                   : 2 + (oparg & 1);
    } else {
        below = oparg + 2 + (at->opcode == leaves->call_kw);
        look->slots = minor < CALLABLE_IS_FIRST ? 2 : 1;
        /* The arguments, which PRECALL is said to take, are still there. */
        if (leaves->precall >= 0 && at->opcode == leaves->call)
            depth += oparg;
    }
    look->slot = locals + depth - below;
    look->top = locals + depth;
    if (depth < below)
        look->slots = 0;
}

static enum err_code read_units(struct leaves *leaves, const struct code *code)
{
    const size_t bytes = (size_t)code->units * BYTECODE_UNIT_BYTES;
    struct object_bytes *const units = &leaves->units;
    if (code->units > BYTECODE_MAX_UNITS)
        return ERR_LIMIT;
    const enum err_code rc = object_bytes_reserve(units, bytes + 1);
    return rc ? rc : memory_read(leaves->memory, code->instructions, units->bytes, bytes);
}

static enum err_code read_handlers(struct leaves *leaves, const struct code *code)
{
    uint64_t addr;
    const enum err_code rc = memory_read_u64(
        leaves->memory, code->addr + leaves->layout->bytes_length + HANDLERS_AFTER_LENGTH,
        &addr);
    return rc ? rc : object_read_bytes(leaves->memory, leaves->layout, addr, &leaves->handlers);
}

/* A call's place in the code is looked up once. */
static enum err_code learn_call(struct leaves *leaves, const struct code *code, uint32_t unit,
                                struct place_look *look)
{
    struct instruction at;
    enum err_code rc = read_units(leaves, code);
    if (!rc)
        rc = read_handlers(leaves, code);
    if (rc)
        return rc;
    const struct bytecode bytecode = { .opcodes = leaves->opcodes,
                                       .units = leaves->units.bytes,
                                       .unit_count = code->units,
                                       .handlers = leaves->handlers.bytes,
                                       .handler_bytes = leaves->handlers.count };
    rc = bytecode_look(&bytecode, unit, &at);
    if (!rc && is_call(leaves, at.opcode))
        set_slots(leaves, &at, (int32_t)field_u32(code->print, NLOCALSPLUS_AFTER_FIRSTLINENO),
                  look);
    return rc;
}

/* Until 3.12 what has called Python code stands at the last of the data behind the call. */
static enum err_code find_start(struct leaves *leaves, const struct code *code, uint32_t unit,
                                struct place_look *look)
{
    if (!leaves->wants_opcodes || minor_of(leaves) >= CALLERS_STAND_AT_THE_CALL)
        return ERR_OK;
    const enum err_code rc = read_units(leaves, code);
    const struct bytecode bytecode = { .opcodes = leaves->opcodes,
                                       .units = leaves->units.bytes,
                                       .unit_count = code->units };
    if (!rc)
        look->back = (uint8_t)(unit - bytecode_start(&bytecode, unit));
    return rc;
}

static bool read_opcode(struct leaves *leaves, remote_addr instr, struct place_look *look)
{
    unsigned char unit[BYTECODE_UNIT_BYTES];
    const remote_addr start = instr - (remote_addr)look->back * BYTECODE_UNIT_BYTES;
    if (memory_read(leaves->memory, start, unit, sizeof unit))
        return false;
    look->opcode = unit[0];
    look->has_opcode = true;
    return true;
}

static enum err_code learn(struct leaves *leaves, const struct walk_frame *frame,
                           struct code_place *place)
{
    const struct code *const code = code_at(leaves->codes, frame->code);
    struct place_look look = { 0 };
    enum err_code rc = ERR_OK;
    uint32_t id;
    const bool is_inside = place->unit < code->units;
    if (is_inside)
        rc = find_start(leaves, code, place->unit, &look);
    if (is_inside && !rc && read_opcode(leaves, frame->instr, &look) && !look.back &&
        is_call(leaves, leaves->opcodes[look.opcode].base))
        rc = learn_call(leaves, code, place->unit, &look);
    /* Without its depth it is an instruction like others. */
    if (rc != ERR_NOMEM)
        rc = pool_push(&leaves->places, &look, &id, NULL);
    if (!rc)
        place->look = id + 1;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static bool refresh_seldom(struct leaves *leaves, remote_addr instr, struct place_look *look)
{
    const bool is_due = look->uses++ % LEAF_OPCODE_USES == LEAF_OPCODE_USES - 1;
    return is_due && look->has_opcode && read_opcode(leaves, instr, look);
}

static void refresh(struct leaves *leaves, remote_addr instr, struct place_look *look)
{
    const bool is_fresh = refresh_seldom(leaves, instr, look) || look->uses == 1;
    if (!is_fresh && leaves->wants_opcodes && look->has_opcode)
        (void)!read_opcode(leaves, instr, look);
}

static remote_addr locals_of(const struct layout *layout, remote_addr frame)
{
    return frame + layout->frame_bytes - WORD;
}

static void take_head(const struct layout *layout, const unsigned char *frame,
                      struct sight *sight)
{
    sight->instr = field_u64(frame, layout->frame_instr);
    sight->top = LAYOUT_MINOR(layout->version) >= TOP_IS_KEPT
                     ? field_u64(frame, layout->frame_stack)
                     : 0;
}

static bool see(const struct leaves *leaves, const struct copy *copy, enum copy_reading reading,
                remote_addr frame, const struct place_look *look, struct sight *out)
{
    const remote_addr slot = locals_of(leaves->layout, frame) + (remote_addr)look->slot * WORD;
    const unsigned char *const head =
        copy_in_chunk(copy, reading, frame, leaves->layout->frame_bytes);
    const unsigned char *const slots =
        copy_in_chunk(copy, reading, slot, (size_t)look->slots * WORD);
    if (!head || !slots)
        return false;
    memset(out, 0, sizeof *out);
    take_head(leaves->layout, head, out);
    memcpy(out->slots, slots, (size_t)look->slots * WORD);
    return true;
}

/* Reads the innermost frame again, what `first` names before it in the same call. */
static bool see_again(struct leaves *leaves, struct memory_span first, remote_addr frame,
                      const struct place_look *look, struct sight *out)
{
    unsigned char head[LAYOUT_MAX_FRAME_BYTES];
    size_t arrived;
    memset(out, 0, sizeof *out);
    const struct memory_span spans[] = {
        first,
        { locals_of(leaves->layout, frame) + (remote_addr)look->slot * WORD, out->slots,
          (size_t)look->slots * WORD },
        { frame, head, leaves->layout->frame_bytes },
    };
    const size_t skipped = first.bytes == 0;
    if (memory_readv(leaves->memory, spans + skipped, 3 - skipped, &arrived))
        return false;
    take_head(leaves->layout, head, out);
    return true;
}

/* Of a frame outside of the chunks only the head has been copied.  It is read again together
 * with the value stack, and must be as it was. */
static bool see_loose(struct leaves *leaves, const unsigned char *copied, remote_addr frame,
                      const struct place_look *look, struct sight *out)
{
    struct sight before = { 0 };
    take_head(leaves->layout, copied, &before);
    return see_again(leaves, (struct memory_span){ 0 }, frame, look, out) &&
           before.instr == out->instr && before.top == out->top;
}

static bool same_sight(const struct sight *a, const struct sight *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* *is_certain_out: both readings show the same. */
static bool see_leaf(struct leaves *leaves, const struct stack *stack,
                     const struct walk_frame *frame, const struct place_look *look,
                     struct sight *out, bool *is_certain_out)
{
    const unsigned char *const loose = copy_loose(&stack->copy, COPY_A, frame->addr);
    struct sight second;
    bool seen;
    if (loose) {
        seen = see_loose(leaves, loose, frame->addr, look, out);
        *is_certain_out = seen;
    } else {
        seen = see(leaves, &stack->copy, COPY_A, frame->addr, look, out);
        *is_certain_out = seen &&
                          see(leaves, &stack->copy, COPY_B, frame->addr, look, &second) &&
                          same_sight(out, &second);
    }
    return seen && out->instr == frame->instr;
}

static bool is_in_progress(const struct leaves *leaves, const struct walk_frame *frame,
                           const struct place_look *look, const struct sight *sight)
{
    return minor_of(leaves) < TOP_IS_KEPT ||
           sight->top == locals_of(leaves->layout, frame->addr) + (remote_addr)look->top * WORD;
}

static remote_addr callable_of(const struct sight *sight)
{
    const uint64_t word = sight->slots[0] & ~TAG_MASK ? sight->slots[0] : sight->slots[1];
    return word & ~TAG_MASK;
}

/* An object that comes and goes was read after the frame, and may have been another by then: both
 * must be there at once. */
static bool is_confirmed(struct leaves *leaves, const struct walk_frame *frame,
                         const struct place_look *look, const struct sight *sight,
                         const struct callee *callee)
{
    unsigned char print[CALLEE_MAX_PRINT_BYTES];
    struct sight again;
    if (callee->is_kept)
        return true;
    return see_again(leaves, callee_print_span(&leaves->callees, callee, print), frame->addr,
                     look, &again) &&
           same_sight(sight, &again) && memcmp(print, callee->print, callee->print_bytes) == 0;
}

static enum err_code look_at_call(struct leaves *leaves, const struct stack *stack,
                                  const struct walk_frame *frame, uint32_t place,
                                  struct leaf *out)
{
    const struct place_look *const look = pool_at(&leaves->places, place);
    const struct callee *callee;
    struct sight sight;
    bool is_certain;
    out->in_native = FACT_UNKNOWN;
    if (!see_leaf(leaves, stack, frame, look, &sight, &is_certain))
        return ERR_OK;
    out->in_native = FACT_NO;
    const remote_addr callable = callable_of(&sight);
    if (!callable || !is_in_progress(leaves, frame, look, &sight))
        return ERR_OK;
    const enum err_code rc = callee_look(&leaves->callees, callable, &callee);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    out->in_native = callee->is_c;
    if (callee->is_c != FACT_YES || !callee->name)
        return ERR_OK;
    bool is_known = links_has(&leaves->pairs, place, callee->name);
    if (!is_known && is_certain && is_confirmed(leaves, frame, look, &sight, callee)) {
        links_add(&leaves->pairs, place, callee->name);
        is_known = true;
    }
    if (is_known)
        out->callee = callee->name;
    return ERR_OK;
}

/* *out is NULL where there is no room to know it. */
static enum err_code look_of(struct leaves *leaves, const struct walk_frame *frame,
                             uint32_t *place_out, struct place_look **out)
{
    struct code_place *const place = code_place(leaves->codes, frame->code, frame->instr);
    enum err_code rc = place ? ERR_OK : ERR_NOMEM;
    *out = NULL;
    if (!rc && !place->look)
        rc = learn(leaves, frame, place);
    if (rc || !place->look)
        return rc;
    *place_out = place->look - 1;
    *out = pool_at(&leaves->places, *place_out);
    return ERR_OK;
}

enum err_code leaf_waiting_opcode(struct leaves *leaves, const struct walk_frame *frame,
                                  int *out)
{
    struct place_look *look;
    uint32_t place;
    *out = LEAF_NO_OPCODE;
    if (!leaves->opcodes)
        return ERR_OK;
    const enum err_code rc = look_of(leaves, frame, &place, &look);
    if (rc || !look)
        return rc;
    (void)!refresh_seldom(leaves, frame->instr, look);
    if (look->has_opcode)
        *out = look->opcode;
    return ERR_OK;
}

enum err_code leaf_look(struct leaves *leaves, const struct stack *stack, struct leaf *out)
{
    *out = (struct leaf){ .in_native = FACT_UNKNOWN, .opcode = LEAF_NO_OPCODE };
    if (stack->count == 0)
        out->in_native = FACT_YES;
    if (stack->count == 0 || stack->certainty == STACK_TRUNCATED || !leaves->opcodes)
        return ERR_OK;
    const struct walk_frame *const frame = &stack->frames[stack->count - 1];
    struct place_look *look;
    uint32_t place;
    const enum err_code rc = look_of(leaves, frame, &place, &look);
    if (rc || !look)
        return rc;
    refresh(leaves, frame->instr, look);
    if (!look->has_opcode)
        return ERR_OK;
    out->opcode = look->opcode;
    if (look->slots)
        return look_at_call(leaves, stack, frame, place, out);
    const struct opcode *const form = &leaves->opcodes[look->opcode];
    if (!is_call(leaves, form->base) && !(form->flags & OPCODE_RUNS_SLOTS))
        out->in_native = FACT_NO;
    return ERR_OK;
}
