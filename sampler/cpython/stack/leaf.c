#include "sampler/cpython/stack/leaf.h"

#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/cpython/objects/code_place.h"

enum {
    WORD = sizeof(uint64_t),
    MAX_SLOTS = 2,
};

/* References on the value stack have a tag in their low bits. */
static const uint64_t TAG_MASK = 7;

/* An instruction. */
struct leaf_place {
    uint8_t opcode; /* the form last seen */
    bool has_opcode;
    uint8_t back;  /* units from the start of the instruction to the place */
    uint8_t slots; /* value-stack slots that may hold the callable; 0: not a call */
    int32_t slot;  /* the first of them, in words from the start of the locals */
    int32_t top;   /* of the value stack before the call, in the same words */
    uint32_t uses;
};

/* A place and the name of what is called there, seen for certain. */
struct leaf_pair {
    uint32_t place;
    str_id callee;
};

/* The innermost frame in one reading. */
struct leaf_state {
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
    leaves->opcodes = codes->opcodes;
    if (leaves->opcodes) {
        leaves->call = opcodes_find(leaves->opcodes, "CALL");
        leaves->precall = opcodes_find(leaves->opcodes, "PRECALL");
        leaves->call_kw = opcodes_find(leaves->opcodes, "CALL_KW");
        leaves->call_function_ex = opcodes_find(leaves->opcodes, "CALL_FUNCTION_EX");
    }
    callee_table_init(&leaves->callees, memory, layout, strings);
    pool_init(&leaves->places, sizeof(struct leaf_place), LEAF_MAX_PLACES);
    pool_init(&leaves->pairs, sizeof(struct leaf_pair), LEAF_MAX_PAIRS);
    idmap_init(&leaves->pair_index);
}

void leaves_deinit(struct leaves *leaves)
{
    callee_table_deinit(&leaves->callees);
    pool_deinit(&leaves->places);
    pool_deinit(&leaves->pairs);
    idmap_deinit(&leaves->pair_index);
    code_bytecode_deinit(&leaves->room);
}

static bool has_pair(const struct leaves *leaves, uint32_t place, str_id callee)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &leaves->pair_index, hash_mix(place, callee),
               ((const struct leaf_pair *)pool_at(&leaves->pairs, at->id))->place == place &&
                   ((const struct leaf_pair *)pool_at(&leaves->pairs, at->id))->callee ==
                       callee);
    return at != NULL;
}

void leaves_clear(struct leaves *leaves)
{
    const bool wants_opcodes = leaves->wants_opcodes;
    struct strtab *const strings = leaves->callees.strings;
    leaves_deinit(leaves);
    leaves_init(leaves, leaves->memory, leaves->layout, leaves->codes, strings);
    leaves->wants_opcodes = wants_opcodes;
}

static bool is_call(const struct leaves *leaves, int base)
{
    return base == leaves->call || base == leaves->precall || base == leaves->call_kw ||
           base == leaves->call_function_ex;
}

bool leaf_measure_call(const struct leaves *leaves, const struct instruction *at,
                       struct leaf_call *out)
{
    const struct layout *const layout = leaves->layout;
    const int32_t oparg = (int32_t)at->oparg;
    if (!is_call(leaves, at->opcode))
        return false;
    out->depth = at->depth;
    if (at->opcode == leaves->call_function_ex) {
        out->values = layout->always_has_keywords  ? 4
                      : layout->has_callable_first ? 3 + (oparg & 1)
                                                   : 2 + (oparg & 1);
        return true;
    }
    out->values = oparg + 2 + (at->opcode == leaves->call_kw);
    /* The effect of PRECALL includes the arguments, but they are still on the stack. */
    if (leaves->precall >= 0 && at->opcode == leaves->call)
        out->depth += oparg;
    return true;
}

/* Finds the slots of the callable.  3.11 and 3.12 have (method, object) or (NULL, callable); 3.13 and later
 * have (callable, object or NULL). */
static void set_slots(const struct leaves *leaves, const struct instruction *at, int32_t locals,
                      struct leaf_place *leaf_place)
{
    const struct layout *const layout = leaves->layout;
    struct leaf_call call;
    if (!leaf_measure_call(leaves, at, &call))
        return;
    leaf_place->slots =
        at->opcode == leaves->call_function_ex || layout->has_callable_first ? 1 : 2;
    leaf_place->slot = locals + call.depth - call.values;
    leaf_place->top = locals + call.depth;
    if (call.depth < call.values)
        leaf_place->slots = 0;
}

/* Finds the slots of a call instruction; done once for each instruction. */
static enum err_code learn_call(struct leaves *leaves, const struct code *code, uint32_t unit,
                                struct leaf_place *leaf_place)
{
    struct instruction at;
    struct bytecode bytecode;
    enum err_code rc = code_bytecode_read(leaves->memory, leaves->layout, code, leaves->opcodes,
                                          true, &leaves->room, &bytecode);
    if (!rc)
        rc = bytecode_position(&bytecode, unit, &at);
    if (!rc && is_call(leaves, at.opcode))
        set_slots(leaves, &at, (int32_t)code_variables(code), leaf_place);
    return rc;
}

/* Until 3.12 a frame that has called Python code is at the last cache unit of the call. */
static enum err_code find_start(struct leaves *leaves, const struct code *code, uint32_t unit,
                                struct leaf_place *leaf_place)
{
    if (!leaves->wants_opcodes || leaves->layout->stays_at_call)
        return ERR_OK;
    struct bytecode bytecode;
    const enum err_code rc = code_bytecode_read(
        leaves->memory, leaves->layout, code, leaves->opcodes, false, &leaves->room, &bytecode);
    if (!rc)
        leaf_place->back = (uint8_t)(unit - bytecode_start(&bytecode, unit));
    return rc;
}

static bool read_opcode(struct leaves *leaves, remote_addr instr, struct leaf_place *leaf_place)
{
    unsigned char unit[BYTECODE_UNIT_BYTES];
    const remote_addr start = instr - (remote_addr)leaf_place->back * BYTECODE_UNIT_BYTES;
    if (memory_read(leaves->memory, start, unit, sizeof unit))
        return false;
    leaf_place->opcode = unit[0];
    leaf_place->has_opcode = true;
    return true;
}

static enum err_code learn(struct leaves *leaves, const struct walk_frame *frame,
                           struct code_place *place)
{
    const struct code *const code = code_at(leaves->codes, frame->code);
    struct leaf_place leaf_place = { 0 };
    enum err_code rc = ERR_OK;
    uint32_t id;
    const bool is_inside = place->unit < code->units;
    if (is_inside)
        rc = find_start(leaves, code, place->unit, &leaf_place);
    if (is_inside && !rc && read_opcode(leaves, frame->instr, &leaf_place) &&
        !leaf_place.back && is_call(leaves, leaves->opcodes[leaf_place.opcode].base))
        rc = learn_call(leaves, code, place->unit, &leaf_place);
    /* A call whose depth is unknown is stored as an instruction that does not call. */
    if (rc != ERR_NOMEM)
        rc = pool_push(&leaves->places, &leaf_place, &id, NULL);
    if (!rc)
        place->leaf_place = id + 1;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

static bool refresh_seldom(struct leaves *leaves, remote_addr instr,
                           struct leaf_place *leaf_place)
{
    const bool is_due = leaf_place->uses++ % LEAF_OPCODE_USES == LEAF_OPCODE_USES - 1;
    return is_due && leaf_place->has_opcode && read_opcode(leaves, instr, leaf_place);
}

static remote_addr locals_of(const struct layout *layout, remote_addr frame)
{
    return frame + layout->frame_bytes - WORD;
}

static void take_head(const struct layout *layout, const unsigned char *frame,
                      struct leaf_state *state)
{
    state->instr = field_u64(frame, layout->frame_instr);
    state->top = layout->keeps_stack_top ? field_u64(frame, layout->frame_stack) : 0;
}

static bool see(const struct leaves *leaves, const struct copy *copy, remote_addr frame,
                const struct leaf_place *leaf_place, struct leaf_state *out)
{
    const remote_addr slot =
        locals_of(leaves->layout, frame) + (remote_addr)leaf_place->slot * WORD;
    const unsigned char *const head =
        copy_in_chunk(copy, COPY_A, frame, leaves->layout->frame_bytes);
    const unsigned char *const slots =
        copy_in_chunk(copy, COPY_A, slot, (size_t)leaf_place->slots * WORD);
    if (!head || !slots)
        return false;
    memset(out, 0, sizeof *out);
    take_head(leaves->layout, head, out);
    memcpy(out->slots, slots, (size_t)leaf_place->slots * WORD);
    return true;
}

/* Reads the innermost frame again, and before it, in the same call, the span `first`. */
static bool see_again(const struct leaves *leaves, struct memory *memory,
                      struct memory_span first, remote_addr frame,
                      const struct leaf_place *leaf_place, struct leaf_state *out)
{
    unsigned char head[LAYOUT_MAX_FRAME_BYTES];
    size_t arrived;
    memset(out, 0, sizeof *out);
    const struct memory_span spans[] = {
        first,
        { locals_of(leaves->layout, frame) + (remote_addr)leaf_place->slot * WORD, out->slots,
          (size_t)leaf_place->slots * WORD },
        { frame, head, leaves->layout->frame_bytes },
    };
    const size_t skipped = first.bytes == 0;
    if (memory_readv(memory, spans + skipped, 3 - skipped, &arrived))
        return false;
    take_head(leaves->layout, head, out);
    return true;
}

/* Only the head of an off-chunk frame has been copied.  It is read again together with the value stack,
 * and must be unchanged. */
static bool see_off_chunk(const struct leaves *leaves, struct memory *memory,
                          const unsigned char *copied, remote_addr frame,
                          const struct leaf_place *leaf_place, struct leaf_state *out)
{
    struct leaf_state before = { 0 };
    take_head(leaves->layout, copied, &before);
    return see_again(leaves, memory, (struct memory_span){ 0 }, frame, leaf_place, out) &&
           before.instr == out->instr && before.top == out->top;
}

static bool same_leaf_state(const struct leaf_state *a, const struct leaf_state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool see_leaf(struct leaves *leaves, const struct stack *stack,
                     const struct walk_frame *frame, const struct leaf_place *leaf_place,
                     struct leaf_state *out)
{
    const unsigned char *const off_chunk = copy_off_chunk(&stack->copy, COPY_A, frame->addr);
    const bool seen = off_chunk ? see_off_chunk(leaves, stack->copy.memory, off_chunk,
                                                frame->addr, leaf_place, out)
                                : see(leaves, &stack->copy, frame->addr, leaf_place, out);
    return seen && out->instr == frame->instr;
}

static bool is_in_progress(const struct leaves *leaves, const struct walk_frame *frame,
                           const struct leaf_place *leaf_place, const struct leaf_state *state)
{
    return !leaves->layout->keeps_stack_top ||
           state->top ==
               locals_of(leaves->layout, frame->addr) + (remote_addr)leaf_place->top * WORD;
}

static remote_addr callable_of(const struct leaf_state *state)
{
    const uint64_t word = state->slots[0] & ~TAG_MASK ? state->slots[0] : state->slots[1];
    return word & ~TAG_MASK;
}

/* The instruction may be older than the value stack, so a moving frame is read once more.  A temporary object was read after the
 * frame, and another one may have been there by then: one call must show both the frame and the object. */
static bool is_confirmed(struct leaves *leaves, const struct stack *stack,
                         const struct walk_frame *frame, const struct leaf_place *leaf_place,
                         const struct leaf_state *state, const struct callee *callee)
{
    unsigned char fingerprint[CALLEE_MAX_FINGERPRINT_BYTES];
    struct leaf_state again;
    /* A copy is older than what was read of the object, but the object was there before that. */
    if (stack->copy.taken_ns)
        return callee->is_permanent || callee->epoch < leaves->callees.epoch;
    if (stack->copy.is_still)
        return true;
    const struct memory_span span =
        callee->is_permanent ? (struct memory_span){ 0 }
                             : callee_fingerprint_span(&leaves->callees, callee, fingerprint);
    return see_again(leaves, leaves->memory, span, frame->addr, leaf_place, &again) &&
           same_leaf_state(state, &again) &&
           (callee->is_permanent ||
            memcmp(fingerprint, callee->fingerprint, callee->fingerprint_bytes) == 0);
}

static enum err_code read_call(struct leaves *leaves, const struct stack *stack,
                               const struct walk_frame *frame, uint32_t place, struct leaf *out)
{
    const struct leaf_place *const leaf_place = pool_at(&leaves->places, place);
    const struct callee *callee;
    struct leaf_state state;
    out->in_native = VALUE_UNKNOWN;
    if (!see_leaf(leaves, stack, frame, leaf_place, &state))
        return ERR_OK;
    out->in_native = VALUE_NO;
    const remote_addr callable = callable_of(&state);
    if (!callable || !is_in_progress(leaves, frame, leaf_place, &state))
        return ERR_OK;
    leaves->callees.epoch = leaves->codes->epoch;
    leaves->callees.taken_ns = stack->copy.taken_ns;
    const enum err_code rc = callee_read(&leaves->callees, callable, &callee);
    if (rc)
        return rc == ERR_NOMEM ? rc : ERR_OK;
    out->in_native = callee->is_c;
    if (callee->is_c != VALUE_YES || !callee->name)
        return ERR_OK;
    bool is_known = has_pair(leaves, place, callee->name);
    if (!is_known && is_confirmed(leaves, stack, frame, leaf_place, &state, callee)) {
        /* Without room, the name is confirmed again each time. */
        const struct leaf_pair pair = { place, callee->name };
        uint32_t id;
        if (!pool_push(&leaves->pairs, &pair, &id, NULL))
            (void)!idmap_add(&leaves->pair_index, hash_mix(place, callee->name), id, NULL);
        is_known = true;
    }
    out->is_unsettled = !is_known && stack->copy.taken_ns;
    if (is_known) {
        out->callee = callee->name;
        out->code = callee->code;
    }
    return ERR_OK;
}

/* *out NULL: the table of instructions is full. */
static enum err_code request_of(struct leaves *leaves, const struct walk_frame *frame,
                                uint32_t *place_out, struct leaf_place **out)
{
    struct code_place *const place = code_place(leaves->codes, frame->code, frame->instr);
    enum err_code rc = place ? ERR_OK : ERR_NOMEM;
    *out = NULL;
    if (!rc && !place->leaf_place)
        rc = learn(leaves, frame, place);
    if (rc || !place->leaf_place)
        return rc;
    *place_out = place->leaf_place - 1;
    *out = pool_at(&leaves->places, *place_out);
    return ERR_OK;
}

enum err_code leaf_waiting_opcode(struct leaves *leaves, const struct walk_frame *frame,
                                  int *out)
{
    struct leaf_place *leaf_place;
    uint32_t place;
    *out = LEAF_NO_OPCODE;
    if (!leaves->opcodes)
        return ERR_OK;
    const enum err_code rc = request_of(leaves, frame, &place, &leaf_place);
    if (rc || !leaf_place)
        return rc;
    (void)!refresh_seldom(leaves, frame->instr, leaf_place);
    if (leaf_place->has_opcode)
        *out = leaf_place->opcode;
    return ERR_OK;
}

enum err_code leaf_read(struct leaves *leaves, const struct stack *stack, struct leaf *out)
{
    *out = (struct leaf){ .in_native = VALUE_UNKNOWN, .opcode = LEAF_NO_OPCODE };
    if (stack->count == 0)
        out->in_native = VALUE_YES;
    if (stack->count == 0 || stack->certainty == STACK_TRUNCATED || !leaves->opcodes)
        return ERR_OK;
    const struct walk_frame *const frame = &stack->frames[stack->count - 1];
    struct leaf_place *leaf_place;
    uint32_t place;
    const enum err_code rc = request_of(leaves, frame, &place, &leaf_place);
    if (rc || !leaf_place)
        return rc;
    const remote_addr instr = frame->instr;
    const bool is_fresh = refresh_seldom(leaves, instr, leaf_place) || leaf_place->uses == 1;
    if (!is_fresh && leaves->wants_opcodes && leaf_place->has_opcode)
        (void)!read_opcode(leaves, instr, leaf_place);

    if (!leaf_place->has_opcode)
        return ERR_OK;
    out->opcode = leaf_place->opcode;
    if (leaf_place->slots)
        return read_call(leaves, stack, frame, place, out);
    const struct opcode *const form = &leaves->opcodes[leaf_place->opcode];
    if (!is_call(leaves, form->base) && !(form->flags & OPCODE_RUNS_SLOTS))
        out->in_native = VALUE_NO;
    return ERR_OK;
}
