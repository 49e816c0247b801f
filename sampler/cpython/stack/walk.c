#include "sampler/cpython/stack/walk.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/code_place.h"
#include "sampler/cpython/objects/object.h"

enum {
    MAX_FETCHES = 256,       /* off-chunk frames in one walk; later walks fetch the others */
    MAX_CODES_LOADED = 4096, /* in one walk; this bounds a hostile stack */
    WALK_MAX_ENTRIES = 8,    /* entry frames in a row */
    WALK_WORD = sizeof(uint64_t),
};

struct walker {
    struct walk *walk;
    struct copy *copy;
    const struct layout *layout;
    struct code_table *codes;
    remote_addr running;
    size_t reusable; /* leading frames of the walk before that may be taken over */
    uint64_t place;  /* of the outermost frame in a chunk seen so far */
    size_t found;    /* frames, and those that have returned */
    size_t loaded, fetched;
};

enum found { FOUND_FRAME, FOUND_RETURNED, FOUND_BEGINNING, FOUND_NOTHING };

void walk_deinit(struct walk *walk)
{
    free(walk->frames);
    free(walk->inner);
    memset(walk, 0, sizeof *walk);
}

/* Code objects are aligned to 16 bytes; a stack reference has its tag in the low bits. */
static const uint64_t TAG_MASK = 7;

static code_id load_code(struct walker *w, remote_addr addr, uint32_t instructions_copy)
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
        return load_code(w, addr, instructions_copy);
    /* When a thread ends, its copy is freed, and a later copy may have the same number. */
    if (!code_holds(code_at(w->codes, id), instr) && !code_copy_is_valid(w->codes, id)) {
        const code_id now = load_code(w, addr, instructions_copy);
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
    const code_id id =
        w->codes->is_described ? CODE_NONE : load_code(w, addr, instructions_copy);
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

/* FOUND_RETURNED: the frame has returned meanwhile.  FOUND_BEGINNING: the frame is before its first traceable instruction; it is still being set up, or is
 * the rest of a call that made a generator. */
static enum found make_frame(struct walker *w, remote_addr addr, const unsigned char *bytes,
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

/* Does a frame wait for its callee?  A waiting frame has saved its value stack.  A frame that has not
 * begun has saved an empty one, and is not at a call. */
static bool waits_for_callee(const struct walker *w, const struct walk_frame *frame,
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

static bool is_outermost(const struct walker *w, uint64_t place)
{
    /* The interpreter leaves the first word of the first chunk empty. */
    return w->copy->chunk_count && place == COPY_CHUNK_HEADER_BYTES + WALK_WORD;
}

/* The bytes of a frame that the walk reads.  The first variable is part of its structure. */
static size_t head_bytes(const struct layout *layout)
{
    return layout->frame_bytes - WALK_WORD;
}

/* The number of frames of the previous walk that are unchanged in the chunks.  Their variables and value
 * stacks may have changed: a loop counts on in an outer frame. */
static size_t unchanged_in_chunks(const struct walk *walk, const struct copy *copy,
                                  uint64_t changed)
{
    while (changed != COPY_NOWHERE) {
        size_t at;
        LOWER_BOUND(at, walk->count,
                    walk->frames[at].place + head_bytes(copy->layout) <= changed);
        const bool is_header = (changed & UINT32_MAX) < COPY_CHUNK_HEADER_BYTES;
        if (is_header || at == walk->count || walk->frames[at].place <= changed)
            return at;
        changed = copy_changed_from(copy, walk->frames[at].place);
    }
    return walk->count;
}

static size_t unchanged_frames(const struct walk *walk, const struct copy *copy,
                               uint64_t changed)
{
    const size_t count = unchanged_in_chunks(walk, copy, changed);
    if (copy->off_chunk_count == 0 || copy_off_chunk_is_same(copy))
        return count;
    for (size_t i = 0; i < count; i++) {
        if (!walk->frames[i].is_off_chunk)
            continue;
        const unsigned char *const now = copy_off_chunk(copy, COPY_A, walk->frames[i].addr);
        const unsigned char *const last = copy_off_chunk(copy, COPY_LAST, walk->frames[i].addr);
        if (!now || !last || memcmp(now, last, head_bytes(copy->layout)) != 0)
            return i;
    }
    return count;
}

/* Leaves out the frames found so far: one of them has returned, so all inner ones have. */
static void cut_inner(struct walk *walk)
{
    walk->inner_count = 0;
    walk->is_cut = true;
}

static enum err_code push_inner(struct walk *walk, const struct walk_frame *frame)
{
    if (!VEC_RESERVE(walk->inner, walk->inner_room, walk->inner_count + 1))
        return ERR_NOMEM;
    walk->inner[walk->inner_count++] = *frame;
    return ERR_OK;
}

/* If a frame does not wait, its callee has returned.  Before 3.14, a caller of C code does not show that it
 * waits. */
static void see_if_waiting(struct walker *w, const struct walk_frame *caller,
                           const unsigned char *bytes)
{
    struct walk *const walk = w->walk;
    if (walk->inner_count == 0)
        return;
    const struct walk_frame *const callee = &walk->inner[walk->inner_count - 1];
    const bool is_waiting =
        w->copy->is_still ||
        waits_for_callee(w, caller, bytes, callee->is_off_chunk && !callee->entered_from_c);
    if ((w->layout->clears_popped_frames || !callee->entered_from_c) && !is_waiting)
        cut_inner(walk);
}

/* Does the previous walk have this frame?  Its frames above `place` are not outer frames of this one. */
static bool is_reusable(struct walker *w, remote_addr addr, uint64_t place)
{
    const struct walk_frame *const frames = w->walk->frames;
    if (place == COPY_NOWHERE) {
        for (size_t i = w->reusable; i > 0 && frames[i - 1].is_off_chunk; i--)
            if (frames[i - 1].addr == addr) {
                w->reusable = i;
                return true;
            }
        return false;
    }
    while (w->reusable &&
           (frames[w->reusable - 1].place > place ||
            (frames[w->reusable - 1].place == place && frames[w->reusable - 1].addr != addr)))
        w->reusable--;
    return w->reusable && frames[w->reusable - 1].addr == addr;
}

/* The bytes of a frame, which are read now if needed; NULL: they cannot be read. */
static const unsigned char *bytes_of(struct walker *w, remote_addr addr, uint64_t place,
                                     enum err_code *rc)
{
    if (place != COPY_NOWHERE)
        return copy_at(w->copy, COPY_A, place, w->layout->frame_bytes);
    const unsigned char *const bytes = copy_off_chunk(w->copy, COPY_A, addr);
    if (bytes || w->fetched == MAX_FETCHES)
        return bytes;
    w->fetched++;
    const enum err_code fetched = copy_fetch_off_chunk(w->copy, addr);
    *rc = fetched == ERR_NOMEM ? fetched : ERR_OK;
    return fetched ? NULL : copy_off_chunk(w->copy, COPY_A, addr);
}

/* The caller of a frame; of a generator that has yielded meanwhile: the frame that resumed it. */
static remote_addr caller_of(struct walker *w, const unsigned char *bytes,
                             const struct walk_frame *frame, enum found *found)
{
    const remote_addr previous = field_u64(bytes, w->layout->frame_previous);
    if (!frame->is_off_chunk)
        return previous;
    copy_mark_used(w->copy, frame->addr, previous);
    if (previous || w->copy->is_still)
        return previous;
    if (*found == FOUND_FRAME)
        *found = FOUND_RETURNED;
    return copy_off_chunk_caller(w->copy, frame->addr);
}

/* The entry frame that is part of the thread state, not of the C stack. */
static bool is_base_frame(const struct walker *w, remote_addr addr)
{
    return w->layout->tstate_base_frame &&
           addr == field_u64(w->copy->tstate, w->layout->tstate_base_frame);
}

/* The result of one step of the walk. */
enum step { STEP_ON, STEP_DONE, STEP_LOST };

static enum step step_to_frame(struct walker *w, remote_addr addr, uint64_t place,
                               const unsigned char *bytes, remote_addr *next, enum err_code *rc)
{
    struct walk_frame frame;
    enum found found = make_frame(w, addr, bytes, &frame);
    frame.place = place;
    frame.is_off_chunk = place == COPY_NOWHERE;
    /* A caller is below its callee. */
    if (found == FOUND_NOTHING || (found == FOUND_BEGINNING && w->found) ||
        (!frame.is_off_chunk && place >= w->place))
        return STEP_LOST;
    if (!frame.is_off_chunk)
        w->place = place;
    *next = caller_of(w, bytes, &frame, &found);
    w->found += found != FOUND_BEGINNING;
    if (found == FOUND_RETURNED)
        cut_inner(w->walk);
    if (found == FOUND_FRAME) {
        see_if_waiting(w, &frame, bytes);

        /* Is the frame marked as called by C (3.11)? The outermost frame does not count. */
        frame.entered_from_c = w->layout->frame_is_entry &&
                               bytes[w->layout->frame_is_entry] != 0 && !is_outermost(w, place);

        if (w->layout->has_entry_frames && is_outermost(w, place) && !is_base_frame(w, *next))
            frame.entry = *next;
        *rc = push_inner(w->walk, &frame);
    }
    /* The place alone identifies the outermost frame: no frame is before it. */
    return *rc || is_outermost(w, place) ? STEP_DONE : STEP_ON;
}

static enum step step_through_entry(struct walker *w, remote_addr addr,
                                    const unsigned char *bytes, remote_addr *next)
{
    struct walk *const walk = w->walk;
    copy_mark_used(w->copy, addr, 0);
    *next = field_u64(bytes, w->layout->frame_previous);
    /* Only the base frame of a thread has no caller. */
    const bool is_base = is_base_frame(w, addr);
    if (walk->inner_count)
        walk->inner[walk->inner_count - 1].entered_from_c = *next != 0;
    if (!is_base) {
        struct walk_frame *const callee =
            walk->inner_count ? &walk->inner[walk->inner_count - 1] : NULL;
        if (callee && callee->entry)
            callee->empty_entries++;
        else if (callee)
            callee->entry = addr;
        else if (!walk->empty_entry)
            walk->empty_entry = addr;
    }
    return *next || w->found || is_base ? STEP_ON : STEP_LOST;
}

static enum step step_to(struct walker *w, remote_addr addr, remote_addr *next,
                         enum err_code *rc)
{
    const uint64_t place = copy_place_near(w->copy, addr, w->place);
    const bool reuses = is_reusable(w, addr, place);
    const unsigned char *const bytes = bytes_of(w, addr, place, rc);
    if (*rc)
        return STEP_DONE;
    if (!bytes)
        return STEP_LOST;
    if (reuses) {
        see_if_waiting(w, &w->walk->frames[w->reusable - 1], bytes);
        return STEP_DONE;
    }
    if (place == COPY_NOWHERE && copy_is_entry(w->layout, bytes))
        return step_through_entry(w, addr, bytes, next);
    return step_to_frame(w, addr, place, bytes, next, rc);
}

static bool has_frames(const struct copy *copy)
{
    return copy->chunk_count &&
           copy_stack_top(copy) != copy->chunks[0].addr + COPY_CHUNK_HEADER_BYTES + WALK_WORD;
}

/* The number of frames that the bytes of the reading can hold. */
static size_t max_frames(const struct copy *copy)
{
    size_t bytes = 0;
    for (size_t i = 0; i < copy->chunk_count; i++)
        bytes += copy->chunks[i].bytes;
    return bytes / copy->layout->frame_bytes + copy->off_chunk_count + 1;
}

/* Walks outwards until a frame has no caller, or can be reused. */
static enum step walk_out(struct walker *w, enum err_code *rc)
{
    const size_t most = max_frames(w->copy) + MAX_FETCHES;
    remote_addr addr = w->running;
    size_t entries = 0;
    enum step step = STEP_ON;
    for (size_t i = 0; i < most && addr; i++) {
        remote_addr next = 0;
        const size_t found = w->found;
        step = step_to(w, addr, &next, rc);
        if (step != STEP_ON)
            break;
        entries = w->found == found ? entries + 1 : 0;
        if (entries > WALK_MAX_ENTRIES)
            return STEP_LOST;
        addr = next;
    }
    if (step != STEP_ON)
        return step;
    w->reusable = 0;
    /* If the chunks hold frames, the chain must end at the outermost of them. */
    return addr || (w->found && has_frames(w->copy)) ? STEP_LOST : STEP_DONE;
}

static bool is_same(const struct walk_frame *a, const struct walk_frame *b)
{
    return a->code == b->code && a->instr == b->instr && a->entered_from_c == b->entered_from_c;
}

/* The stack: the reused frames, and above them the frames that were found.  Those that are the same as in
 * the previous walk, with all outer ones, keep their tags. */
static enum err_code put_together(struct walk *walk, size_t reusable)
{
    const size_t before = walk->count;
    if (!VEC_RESERVE(walk->frames, walk->room, reusable + walk->inner_count))
        return ERR_NOMEM;
    bool keeps_tags = true;
    walk->count = walk->reused = reusable;
    for (size_t i = walk->inner_count; i-- > 0; walk->count++) {
        struct walk_frame *const slot = &walk->frames[walk->count], frame = walk->inner[i];
        keeps_tags = keeps_tags && walk->count < before && is_same(slot, &frame);
        if (keeps_tags)
            memcpy(frame.tags, slot->tags, sizeof frame.tags);
        if (frame.is_off_chunk)
            frame.place = walk->count ? slot[-1].place : 0;
        *slot = frame;
    }
    return ERR_OK;
}

enum err_code walk_reading(struct walk *walk, struct copy *copy, uint64_t changed,
                           remote_addr running, struct code_table *codes)
{
    /* In 3.11 and 3.12 the running frame is read after the top, and may have been pushed in between. */
    const bool is_bounded = copy->layout->tstate_current_frame || !running;
    struct walker w = {
        .walk = walk,
        .copy = copy,
        .layout = copy->layout,
        .codes = codes,
        .running = running,
        .reusable = unchanged_frames(walk, copy, changed),
        .place = is_bounded ? copy_place(copy, copy_stack_top(copy)) : COPY_NOWHERE,
    };
    enum err_code rc = ERR_OK;
    walk->loaded = walk->is_cut = false;
    walk->inner_count = 0;
    walk->empty_entry = 0;
    walk->is_broken = walk_out(&w, &rc) == STEP_LOST;
    if (walk->is_broken)
        w.reusable = walk->inner_count = 0;
    return rc ? rc : put_together(walk, w.reusable);
}
