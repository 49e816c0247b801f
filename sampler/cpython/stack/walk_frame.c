#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/walk_parts.h"

enum { MAX_CODES_LOADED = 4096 /* in one walk; this bounds a hostile stack */ };

/* Code objects are aligned to 16 bytes; a stack reference has its tag in the low bits. */
static const uint64_t TAG_MASK = 7;

static code_id load(struct walker *w, remote_addr addr, uint32_t instructions_copy)
{
    code_id id;
    if (w->loaded == MAX_CODES_LOADED)
        return CODE_NONE;
    w->loaded++;
    if (code_load(w->codes, addr, instructions_copy, &id))
        return CODE_NONE;
    w->walk->loaded = true;
    return id;
}

/* The code object at addr; CODE_NONE: none. */
static code_id code_there(struct walker *w, remote_addr addr, uint32_t instructions_copy,
                          remote_addr instr)
{
    const code_id id = code_find(w->codes, addr, instructions_copy);
    if (id == CODE_NONE)
        return load(w, addr, instructions_copy);
    /* When a thread ends, its copy is freed, and a later copy may have the same number. */
    if (!code_holds(code_at(w->codes, id), instr) && !code_copy_is_valid(w->codes, id)) {
        const code_id now = load(w, addr, instructions_copy);
        return now == CODE_NONE ? id : now;
    }
    return id;
}

/* The number of the copy of the instructions that a frame runs. */
static uint32_t instructions_copy_of(const struct walker *w, const unsigned char *bytes)
{
    return w->layout->frame_tlbc_index ? field_u32(bytes, w->layout->frame_tlbc_index) : 0;
}

/* The code object that a frame which cannot move stands in.  The known one is not: another has its place now. */
static code_id code_now(struct walker *w, remote_addr addr, uint32_t instructions_copy,
                        remote_addr instr)
{
    const code_id id = w->codes->is_described ? CODE_NONE : load(w, addr, instructions_copy);
    return id != CODE_NONE && code_holds(code_at(w->codes, id), instr) ? id : CODE_NONE;
}

/* The code of a frame, or of a popped one: the interpreter clears and sets the instruction later than the
 * executable. */
static code_id code_of(struct walker *w, const unsigned char *bytes,
                       const struct walk_frame *frame, bool *has_returned_out)
{
    const remote_addr addr = field_u64(bytes, w->layout->frame_executable) & ~TAG_MASK;
    const code_id id =
        addr ? code_there(w, addr, instructions_copy_of(w, bytes), frame->instr) : CODE_NONE;
    *has_returned_out = false;
    if (id != CODE_NONE && code_holds(code_at(w->codes, id), frame->instr))
        return id;
    if (w->copy->is_still)
        return addr ? code_now(w, addr, instructions_copy_of(w, bytes), frame->instr)
                    : CODE_NONE;
    *has_returned_out = true;
    return id != CODE_NONE || w->layout->clears_popped_frames
               ? code_holding(w->codes, frame->instr)
               : CODE_NONE;
}

enum found walk_make_frame(struct walker *w, remote_addr addr, const unsigned char *bytes,
                           struct walk_frame *out)
{
    *out =
        (struct walk_frame){ .addr = addr, .instr = field_u64(bytes, w->layout->frame_instr) };
    bool has_returned;
    out->code = code_of(w, bytes, out, &has_returned);
    if (out->code == CODE_NONE)
        return FOUND_NOTHING;
    const struct code *const code = code_at(w->codes, out->code);
    if (w->layout->code_firsttraceable &&
        out->instr + 2 < code->instructions + (uint64_t)code->first_traceable * 2)
        return FOUND_BEGINNING;
    /* In 3.11 to 3.13 a popped frame stays as it was at its end. */
    if (!w->copy->is_still && !w->layout->clears_popped_frames &&
        code_act_at(w->codes, out->code, out->instr) == CODE_RETURNS)
        has_returned = true;
    return has_returned ? FOUND_RETURNED : FOUND_FRAME;
}

bool walk_is_waiting(const struct walker *w, const struct walk_frame *frame,
                     const unsigned char *bytes, bool for_generator)
{
    const struct code *const code = code_at(w->codes, frame->code);
    const uint64_t begin = code->instructions + (uint64_t)code->first_traceable * 2;
    if (frame->instr <= begin && !code->is_shim)
        return false;
    const enum code_act act = code_act_at(w->codes, frame->code, frame->instr);
    if (act == CODE_RETURNS || act == CODE_YIELDS || (for_generator && act != CODE_RESUMES))
        return false;
    return w->layout->clears_popped_frames
               ? field_u64(bytes, w->layout->frame_stack) != 0
               : (int32_t)field_u32(bytes, w->layout->frame_stack) >= 0;
}

bool walk_is_outermost(const struct walker *w, uint64_t place)
{
    /* The interpreter leaves the first word of the first chunk empty. */
    return w->copy->chunk_count && place == COPY_CHUNK_HEADER_BYTES + WALK_WORD;
}

bool walk_is_entered_from_c(const struct walker *w, uint64_t place, const unsigned char *bytes)
{
    return w->layout->frame_is_entry && bytes[w->layout->frame_is_entry] != 0 &&
           !walk_is_outermost(w, place);
}
