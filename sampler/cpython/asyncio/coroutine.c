#include "sampler/cpython/asyncio/coroutine.h"

#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/heap_frames.h"

enum {
    WORD = sizeof(uint64_t),
    HEAD_BYTES = 32,  /* the head of an object, with its type, and its first field */
    STATE_BEFORE = 5, /* gi_frame_state is this many bytes before the frame */
    MAX_VALUES = 1 << 20,
    EXECUTING_BELOW_ZERO = 0,
    EXECUTING_FROM_ZERO = 4,
};

static const uint64_t TAG_MASK = 7;

enum doing { DOES_NOT_RUN_YET, IS_SUSPENDED, AWAITS, EXECUTES, IS_OVER };

void coroutines_init(struct coroutines *coroutines, struct memory *memory,
                     const struct layout *layout, struct code_table *codes,
                     struct predicted_reads *reads)
{
    *coroutines = (struct coroutines){
        .memory = memory, .layout = layout, .codes = codes, .reads = reads
    };
}

static enum coroutine_kind read_kind(struct coroutines *coroutines, remote_addr type)
{
    char name[64];
    uint64_t text;
    if (memory_read_u64(coroutines->memory, type + coroutines->layout->type_name, &text) ||
        object_read_text(coroutines->memory, text, name, sizeof name))
        return COROUTINE_OTHER;

    static const struct {
        const char *name;
        enum coroutine_kind kind;
    } kinds[] = {
        { "coroutine", COROUTINE_FRAMED },
        { "generator", COROUTINE_FRAMED },
        { "async_generator", COROUTINE_FRAMED },
        { "coroutine_wrapper", COROUTINE_WRAPPER },
        { "async_generator_asend", COROUTINE_WRAPPER },
        { "async_generator_athrow", COROUTINE_WRAPPER },
        { "anext_awaitable", COROUTINE_WRAPPER },
        { "_asyncio.FutureIter", COROUTINE_FUTURE },
        { "_GatheringFuture", COROUTINE_GATHER },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].kind;
    return COROUTINE_OTHER;
}

enum coroutine_kind coroutine_kind_of(struct coroutines *coroutines, remote_addr type)
{
    for (size_t i = 0; i < coroutines->type_count; i++)
        if (coroutines->types[i].addr == type)
            return coroutines->types[i].kind;
    const struct coroutine_type seen = { type, read_kind(coroutines, type) };
    if (coroutines->type_count < COROUTINE_MAX_TYPES)
        coroutines->types[coroutines->type_count++] = seen;
    else
        coroutines->types[coroutines->oldest_type++ % COROUTINE_MAX_TYPES] = seen;
    return seen.kind;
}

bool coroutine_is_at(struct coroutines *coroutines, remote_addr object)
{
    uint64_t type;
    return !memory_read_u64(coroutines->memory, object + coroutines->layout->object_type,
                            &type) &&
           coroutine_kind_of(coroutines, type) == COROUTINE_FRAMED;
}

enum err_code coroutine_frame(struct coroutines *coroutines, remote_addr object,
                              remote_addr *out)
{
    const unsigned char *copy;
    *out = object + coroutines->layout->gen_frame;
    if (!coroutines->layout->has_heap_frames)
        return ERR_OK;
    const enum err_code rc = predicted_reads_get(coroutines->reads, object, HEAD_BYTES, &copy);
    if (!rc)
        *out = field_u64(copy, coroutines->layout->gen_frame);
    return rc;
}

/* A frame and its copied bytes. */
struct coroutine_state {
    remote_addr addr;
    const unsigned char *frame;
    enum doing doing;
};

static enum doing doing_of(const struct layout *layout, int state)
{
    if (layout->has_states_from_zero)
        return state == 0                     ? DOES_NOT_RUN_YET
               : state == 1                   ? IS_SUSPENDED
               : state < EXECUTING_FROM_ZERO  ? AWAITS
               : state == EXECUTING_FROM_ZERO ? EXECUTES
                                              : IS_OVER;
    if (state >= EXECUTING_BELOW_ZERO)
        return state == EXECUTING_BELOW_ZERO ? EXECUTES : IS_OVER;
    if (state == -1)
        return AWAITS;
    return layout->has_await_state && state == -2 ? IS_SUSPENDED : DOES_NOT_RUN_YET;
}

static enum err_code see_coroutine(struct coroutines *coroutines, remote_addr object,
                                   struct coroutine_state *out)
{
    if (!coroutines->layout->has_heap_frames) {
        /* For versions whose frames are inside the coroutine object. */
        const struct layout *const layout = coroutines->layout;
        const unsigned char *copy;
        if (layout->gen_frame < STATE_BEFORE ||
            layout->gen_frame + layout->frame_bytes > PREDICTED_READS_MAX_BYTES)
            return ERR_UNSUPPORTED;
        const enum err_code rc =
            predicted_reads_get(coroutines->reads, object, PREDICTED_READS_MAX_BYTES, &copy);
        if (rc)
            return rc;
        *out = (struct coroutine_state){
            .addr = object + layout->gen_frame,
            .frame = copy + layout->gen_frame,
            .doing = doing_of(layout, (signed char)copy[layout->gen_frame - STATE_BEFORE]),
        };
        return ERR_OK;
    }

    const struct layout *const layout = coroutines->layout;
    enum err_code rc = coroutine_frame(coroutines, object, &out->addr);
    if (!rc && !out->addr)
        out->doing = IS_OVER;
    if (rc || !out->addr)
        return rc;
    rc = predicted_reads_get(coroutines->reads, out->addr, layout->frame_bytes, &out->frame);
    if (!rc)
        out->doing = heap_frame_executes(layout, out->frame) ? EXECUTES : AWAITS;
    return rc;
}

static enum err_code frame_of(struct coroutines *coroutines,
                              const struct coroutine_state *state, struct walk_frame *out)
{
    const struct layout *const layout = coroutines->layout;
    const remote_addr addr = field_u64(state->frame, layout->frame_executable) & ~TAG_MASK;
    const uint32_t copy =
        layout->frame_tlbc_index ? field_u32(state->frame, layout->frame_tlbc_index) : 0;
    enum err_code rc = ERR_OK;
    *out = (struct walk_frame){ .addr = state->addr, .is_off_chunk = true };
    out->code = code_find(coroutines->codes, addr, copy);
    if (out->code == CODE_NONE)
        rc = addr ? code_load(coroutines->codes, addr, copy, &out->code) : ERR_CORRUPT;
    if (rc)
        return rc;
    const struct code *const code = code_at(coroutines->codes, out->code);
    out->instr = layout->has_heap_frames ? heap_frame_instr(layout, code, state->frame)
                                         : field_u64(state->frame, layout->frame_instr);
    return code_holds(code, out->instr) ? ERR_OK : ERR_CORRUPT;
}

static enum err_code kind_at(struct coroutines *coroutines, remote_addr object,
                             enum coroutine_kind *out, remote_addr *stands_for)
{
    const struct layout *const layout = coroutines->layout;
    const unsigned char *copy;
    const uint32_t behind_head = object_first_field(layout);
    const enum err_code rc =
        predicted_reads_get(coroutines->reads, object, behind_head + WORD, &copy);
    if (rc)
        return rc;
    *out = coroutine_kind_of(coroutines, field_u64(copy, layout->object_type));
    *stands_for = field_u64(copy, behind_head);
    return ERR_OK;
}

/* Adds one frame; *next: the object it awaits; 0: unknown. */
static enum err_code add_frame(struct coroutines *coroutines, remote_addr object,
                               struct coroutine_chain *chain, remote_addr *next)
{
    struct coroutine_state state = { 0 };
    *next = 0;
    enum err_code rc = see_coroutine(coroutines, object, &state);
    if (rc || state.doing == IS_OVER)
        return rc ? rc : ERR_CORRUPT;
    if (chain->count == COROUTINE_MAX_FRAMES) {
        chain->is_truncated = true;
        return ERR_OK;
    }
    rc = frame_of(coroutines, &state, &chain->frames[chain->count]);
    if (rc)
        return rc;
    chain->count++;
    chain->is_suspended = state.doing != EXECUTES;

    if (state.doing != AWAITS)
        return ERR_OK;

    const unsigned char *copy = NULL;
    remote_addr slot = 0;

    const struct layout *const layout = coroutines->layout;
    const remote_addr base = layout->has_heap_frames
                                 ? field_u64(state.frame, layout->frame_values)
                                 : state.addr + layout->frame_bytes - WORD;
    const remote_addr top =
        layout->has_stack_depth
            ? base + (uint64_t)field_u32(state.frame, layout->frame_stack) * WORD
            : field_u64(state.frame, layout->frame_stack);
    slot = top - (layout->has_await_index ? 2 * WORD : WORD);
    rc = top > base && (top - base) / WORD <= MAX_VALUES && slot >= base ? ERR_OK : ERR_CORRUPT;

    const uint64_t behind = slot - state.addr;
    if (!rc && !coroutines->layout->has_heap_frames &&
        behind + WORD <= PREDICTED_READS_MAX_BYTES - coroutines->layout->gen_frame)
        copy = state.frame + behind;
    else if (!rc)
        rc = predicted_reads_get(coroutines->reads, slot, WORD, &copy);
    if (!rc)
        *next = field_u64(copy, 0) & ~TAG_MASK;
    return rc;
}

/* Corrupt data after the first frame only ends the chain: until 3.10 a frame that has not begun, whose
 * value stack is empty, cannot be recognized. */
static enum err_code end_chain(enum err_code rc, const struct coroutine_chain *chain)
{
    return rc == ERR_CORRUPT && chain->count ? ERR_OK : rc;
}

enum err_code coroutine_follow(struct coroutines *coroutines, remote_addr object,
                               struct coroutine_chain *out)
{
    enum { MAX_STEPS = 4 * COROUTINE_MAX_FRAMES };
    enum err_code rc = ERR_OK;
    out->count = 0;
    out->awaits = 0;
    out->is_suspended = true;
    out->is_truncated = false;
    for (int step = 0; object && !rc; step++) {
        enum coroutine_kind kind;
        remote_addr stands_for, next;
        if (step == MAX_STEPS) {
            out->is_truncated = true;
            break;
        }
        rc = kind_at(coroutines, object, &kind, &stands_for);
        if (rc)
            return end_chain(rc == ERR_FAULT ? ERR_CORRUPT : rc, out);
        switch (kind) {
        case COROUTINE_FRAMED:
            rc = end_chain(add_frame(coroutines, object, out, &next), out);
            object = next;
            break;
        case COROUTINE_WRAPPER: object = stands_for; break;
        case COROUTINE_FUTURE: out->awaits = stands_for; return ERR_OK;
        case COROUTINE_GATHER:
        case COROUTINE_OTHER: out->awaits = object; return ERR_OK;
        }
    }
    return rc;
}

bool coroutine_is_unchanged(const struct coroutines *coroutines,
                            const struct walk_frame *frames, size_t count)
{
    const struct layout *const layout = coroutines->layout;
    for (size_t i = 0; i < count; i++) {
        const remote_addr addr = frames[i].addr;
        const bool stayed =
            layout->has_heap_frames
                ? predicted_reads_is_same(coroutines->reads, addr, layout->frame_previous,
                                          layout->frame_bytes)
                : predicted_reads_is_same(coroutines->reads, addr - layout->gen_frame,
                                          layout->gen_frame - STATE_BEFORE,
                                          layout->gen_frame + layout->frame_bytes - WORD);
        if (!stayed)
            return false;
    }
    return true;
}
