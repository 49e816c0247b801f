#include "sampler/cpython/walk.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ENTRY_FRAMES_IN_A_ROW = 8,
    MAX_LOOSE_IN_A_ROW = 1024, /* as deep as Python recurses unless told otherwise */
    MAX_CODES_LOADED = 4096,   /* in one walk; a hostile stack ends there */
    OWNER_INTERPRETER = 3,     /* "C stack" in 3.12 and 3.13; 4 in 3.14 is on the C stack too */
    WORD = sizeof(uint64_t),
};

/* Code objects are aligned to 16 bytes; a stack reference has its tag in the low bits. */
static const uint64_t TAG_MASK = 7;

struct walker {
    struct walk *walk;
    struct copy *copy;
    const struct layout *layout;
    struct code_table *codes;
    enum copy_reading reading;
    enum walk_kind kind;
    remote_addr top; /* of the data stack, in the thread state */
    size_t loaded;
    size_t known; /* frames before the first whose caller is not copied */
    bool has_loose_python;
    bool clears_executable; /* 3.14 and later */
};

void walk_deinit(struct walk *walk)
{
    free(walk->frames);
    memset(walk, 0, sizeof *walk);
}

bool walk_is_entry(const struct layout *layout, const unsigned char *frame)
{
    return LAYOUT_MINOR(layout->version) >= 12 &&
           frame[layout->frame_owner] >= OWNER_INTERPRETER;
}

/* What stood at this depth in the walk before, NULL: nothing. */
static const struct walk_frame *frame_before(const struct walk *walk)
{
    return walk->count < walk->before ? &walk->frames[walk->count] : NULL;
}

static enum err_code push(struct walk *walk, struct walk_frame *frame)
{
    const struct walk_frame *const before = frame_before(walk);
    if (before && walk->same_codes == walk->count && before->code == frame->code)
        walk->same_codes++;
    if (before && walk->same == walk->count && before->code == frame->code &&
        before->instr == frame->instr && before->entered_from_c == frame->entered_from_c) {
        walk->same++;
        frame->tag = before->tag;
    }
    if (walk->count == walk->room) {
        const size_t room = walk->room ? walk->room * 2 : 64;
        struct walk_frame *const more = realloc(walk->frames, room * sizeof *more);
        if (!more)
            return ERR_NOMEM;
        walk->frames = more;
        walk->room = room;
    }
    walk->frames[walk->count++] = *frame;
    return ERR_OK;
}

/* The code object of a frame, CODE_NONE: there is none. */
static code_id code_of(struct walker *w, const unsigned char *frame)
{
    const remote_addr addr = field_u64(frame, w->layout->frame_executable) & ~TAG_MASK;
    if (addr == 0)
        return CODE_NONE;
    const struct walk_frame *const before = frame_before(w->walk);
    if (before && code_is_at(w->codes, before->code, addr))
        return before->code;
    code_id id = code_find(w->codes, addr);
    if (id != CODE_NONE || w->loaded == MAX_CODES_LOADED)
        return id;
    w->loaded++;
    if (code_load(w->codes, addr, &id))
        return CODE_NONE;
    w->walk->loaded = true;
    return id;
}

/* A frame that has not come near its first traceable instruction is still being set up, or is
 * the remains of a call that made a generator. */
static bool is_set_up(const struct walker *w, const struct code *code, remote_addr instr)
{
    if (!code_holds(code, instr))
        return false;
    return !w->layout->code_firsttraceable ||
           instr + 2 >= code->instructions + (uint64_t)code->first_traceable * 2;
}

/* Reads a frame's code and instruction; false: this is no frame that runs. */
static bool make_frame(struct walker *w, remote_addr addr, const unsigned char *bytes,
                       struct walk_frame *out)
{
    const code_id id = code_of(w, bytes);
    if (id == CODE_NONE)
        return false;
    const remote_addr instr = field_u64(bytes, w->layout->frame_instr);
    const struct code *const code = code_at(w->codes, id);
    *out = (struct walk_frame){ .addr = addr, .instr = instr, .code = id };
    out->has_begun = instr >= code->instructions + (uint64_t)code->first_traceable * 2;
    return is_set_up(w, code, instr);
}

static void note_unknown(struct walk *walk, remote_addr addr)
{
    if (walk->unknown_count < WALK_MAX_UNKNOWN)
        walk->unknown[walk->unknown_count++] = addr;
}

enum caller { CALLER_FOUND, CALLER_UNKNOWN };

/* Follows `previous` through entry frames to a frame with code, or to 0 at the end of the stack.
 * CALLER_UNKNOWN: it leads to *out, which was not copied. */
static enum caller find_caller(struct walker *w, const unsigned char *bytes,
                               remote_addr expected, bool *entered_out, remote_addr *out)
{
    remote_addr addr = field_u64(bytes, w->layout->frame_previous);
    *entered_out = false;
    for (int i = 0; i < MAX_ENTRY_FRAMES_IN_A_ROW && addr && addr != expected; i++) {
        if (copy_in_chunks(w->copy, addr))
            break;
        const unsigned char *const loose = copy_loose(w->copy, w->reading, addr);
        if (!loose) {
            *out = addr;
            return CALLER_UNKNOWN;
        }
        if (!walk_is_entry(w->layout, loose))
            break;
        copy_mark_used(w->copy, addr);
        *entered_out = true;
        addr = field_u64(loose, w->layout->frame_previous);
    }
    *out = addr;
    return CALLER_FOUND;
}

/* Whether a frame in a chunk is called by `parent`.  What hinders the answer is noted: it will
 * be copied next time, and until then the walk goes on only to find more of its kind. */
static bool is_called_by(struct walker *w, const unsigned char *bytes, remote_addr parent,
                         bool *entered_out)
{
    remote_addr caller;
    bool entered;
    if (find_caller(w, bytes, parent, entered_out, &caller) == CALLER_UNKNOWN) {
        note_unknown(w->walk, caller);
        if (w->walk->count < w->known)
            w->known = w->walk->count;
        *entered_out = true;
        return true;
    }
    if (caller == parent)
        return true;
    for (int i = 0; i < MAX_LOOSE_IN_A_ROW && caller; i++) {
        const unsigned char *const loose = copy_loose(w->copy, w->reading, caller);
        if (!loose)
            return false;
        if (find_caller(w, loose, parent, &entered, &caller) == CALLER_UNKNOWN) {
            note_unknown(w->walk, caller);
            return false;
        }
    }
    return false;
}

struct position {
    size_t chunk;  /* index */
    size_t offset; /* of the next frame in the copied bytes */
};

/* Below the top of the stack; chunks before the newest were copied up to theirs. */
static bool is_below_top(const struct walker *w, size_t chunk, remote_addr addr)
{
    return chunk + 1 < w->copy->chunk_count || addr < w->top;
}

/* 3.11 to 3.13: has the frame called another?  One that has not begun cannot have, and one that
 * runs has not saved its value stack. */
static bool is_waiting(const struct walker *w, const unsigned char *frame)
{
    const struct walk *const walk = w->walk;
    return !frame || (walk->frames[walk->count - 1].has_begun &&
                      (int32_t)field_u32(frame, w->layout->frame_stack) >= 0);
}

/* From 3.14 on a frame that was popped has no code; before, what lies below the top is live if
 * its caller waits for it.  A caller in C code does not show that it waits. */
static bool is_live(const struct walker *w, const struct position *at, remote_addr addr,
                    const unsigned char *bytes, remote_addr parent,
                    const unsigned char *parent_bytes)
{
    if (w->clears_executable)
        return true;
    const bool entered = field_u64(bytes, w->layout->frame_previous) != parent ||
                         (w->layout->frame_is_entry && bytes[w->layout->frame_is_entry] != 0);
    return is_below_top(w, at->chunk, addr) &&
           (entered || w->kind == WALK_REMAINS || is_waiting(w, parent_bytes));
}

static size_t first_offset(size_t chunk)
{
    /* The first word of the first chunk is left empty by the interpreter. */
    return COPY_CHUNK_HEADER_BYTES + (chunk == 0 ? WORD : 0);
}

/* Where the frames of a chunk end.  The header of each but the newest says it. */
static size_t end_of(const struct walker *w, size_t index)
{
    enum { USED_WORDS = 16 };
    const struct copy_chunk *const chunk = &w->copy->chunks[index];
    if (index + 1 == w->copy->chunk_count)
        return chunk->bytes;
    const uint64_t words = field_u64(chunk->reading[w->reading], USED_WORDS);
    return words < (chunk->bytes - COPY_CHUNK_HEADER_BYTES) / WORD
               ? COPY_CHUNK_HEADER_BYTES + (size_t)words * WORD
               : chunk->bytes;
}

/* The frame that would be next in the chunks, NULL: there is none in the copied bytes. */
static const unsigned char *frame_at(const struct walker *w, const struct position *at,
                                     remote_addr *addr_out)
{
    const struct copy_chunk *const chunk = &w->copy->chunks[at->chunk];
    if (at->offset + w->layout->frame_bytes > end_of(w, at->chunk))
        return NULL;
    *addr_out = chunk->addr + at->offset;
    return chunk->reading[w->reading] + at->offset;
}

/* Pushes the next frame of the chunks if it is live and called by `parent`. */
static bool step_in_chunk(struct walker *w, struct position *at, remote_addr parent,
                          const unsigned char **parent_bytes, enum err_code *rc)
{
    struct walk_frame frame;
    remote_addr addr;
    bool entered;
    const unsigned char *const bytes = frame_at(w, at, &addr);
    if (!bytes || !make_frame(w, addr, bytes, &frame))
        return false;
    /* Only the links of a live frame lead somewhere. */
    if (!is_live(w, at, addr, bytes, parent, *parent_bytes))
        return false;
    /* The outermost frame is where it is because there is nothing before it. */
    entered = false;
    if (parent && !is_called_by(w, bytes, parent, &entered))
        return false;
    const uint64_t size = (uint64_t)code_at(w->codes, frame.code)->frame_words * WORD;
    if (size < w->layout->frame_bytes - WORD || size > COPY_MAX_CHUNK_BYTES)
        return false;
    /* 3.11 has no entry frames; it marks the frame that was entered. */
    if (parent && w->layout->frame_is_entry)
        entered = bytes[w->layout->frame_is_entry] != 0;
    frame.entered_from_c = entered;
    *rc = push(w->walk, &frame);
    *parent_bytes = bytes;
    at->offset += (size_t)size;
    w->walk->end = addr + size;
    return !*rc;
}

/* Pushes the loose frame with code that is linked to `parent`, if there is one. */
static bool step_loose(struct walker *w, remote_addr parent, const unsigned char **parent_bytes,
                       enum err_code *rc)
{
    for (size_t i = 0; i < w->copy->loose_count; i++) {
        const struct copy_loose *const loose = &w->copy->loose[i];
        const unsigned char *const bytes = loose->reading[w->reading];
        struct walk_frame frame;
        remote_addr caller;
        bool entered;
        if (loose->addr == parent || walk_is_entry(w->layout, bytes) ||
            field_u64(bytes, w->layout->frame_previous) == 0)
            continue;
        /* Memory where a loose frame was may hold anything by now, so nothing is followed. */
        if (find_caller(w, bytes, parent, &entered, &caller) == CALLER_UNKNOWN ||
            caller != parent || !make_frame(w, loose->addr, bytes, &frame))
            continue;
        if (w->layout->frame_is_entry)
            entered = bytes[w->layout->frame_is_entry] != 0;
        if (!w->clears_executable && w->kind == WALK_LIVE && !entered &&
            !is_waiting(w, *parent_bytes))
            continue;
        frame.entered_from_c = entered;
        copy_mark_used(w->copy, loose->addr);
        w->walk->has_loose = true;
        *rc = push(w->walk, &frame);
        *parent_bytes = bytes;
        return !*rc;
    }
    return false;
}

static bool has_loose_python(const struct walker *w)
{
    for (size_t i = 0; i < w->copy->loose_count; i++)
        if (!walk_is_entry(w->layout, w->copy->loose[i].reading[w->reading]))
            return true;
    return false;
}

static size_t max_frames(const struct copy *copy)
{
    size_t bytes = 0;
    for (size_t i = 0; i < copy->chunk_count; i++)
        bytes += copy->chunks[i].bytes;
    return bytes / copy->layout->frame_bytes + copy->loose_count + 1;
}

static enum err_code walk_all(struct walker *w)
{
    struct position at = { 0, first_offset(0) };
    const unsigned char *parent_bytes = NULL;
    enum err_code rc = ERR_OK;
    remote_addr parent = 0;
    const size_t most = max_frames(w->copy);
    for (;;) {
        const bool loose = w->has_loose_python && step_loose(w, parent, &parent_bytes, &rc);
        const bool inside = !loose && !rc && at.chunk < w->copy->chunk_count &&
                            step_in_chunk(w, &at, parent, &parent_bytes, &rc);
        if (rc)
            return rc;
        if (w->walk->count > most)
            return ERR_CORRUPT;
        if (loose || inside) {
            parent = w->walk->frames[w->walk->count - 1].addr;
            continue;
        }
        if (at.chunk + 1 >= w->copy->chunk_count)
            return ERR_OK;
        at.chunk++;
        at.offset = first_offset(at.chunk);
    }
}

/* Leaves the first `count` frames, if there are more. */
static void cut(struct walk *walk, size_t count)
{
    walk->is_cut = walk->count > count;
    if (!walk->is_cut)
        return;
    walk->count = count;
    walk->same = walk->same < count ? walk->same : count;
    walk->same_codes = walk->same_codes < count ? walk->same_codes : count;
}

enum err_code walk_reading(struct walk *walk, struct copy *copy, enum copy_reading reading,
                           enum walk_kind kind, struct code_table *codes)
{
    struct walker w = {
        .walk = walk,
        .copy = copy,
        .layout = copy->layout,
        .codes = codes,
        .reading = reading,
        .kind = kind,
        .top = copy_stack_top(copy),
        .known = SIZE_MAX,
        .clears_executable = LAYOUT_MINOR(copy->layout->version) >= 14,
    };
    walk->before = walk->count;
    walk->count = walk->same = walk->same_codes = 0;
    walk->loaded = walk->has_loose = false;
    walk->end = 0;
    walk->unknown_count = 0;
    w.has_loose_python = has_loose_python(&w);
    const enum err_code rc = walk_all(&w);
    cut(walk, w.known);
    return rc;
}
