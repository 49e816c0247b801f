#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/walk_parts.h"

size_t walk_max_frames(const struct copy *copy)
{
    size_t bytes = 0;
    for (size_t i = 0; i < copy->chunk_count; i++)
        bytes += copy->chunks[i].bytes;
    return bytes / copy->layout->frame_bytes + copy->off_chunk_count + 1;
}

/* The place of the next frame upwards: the end of the last one, or the start of the next chunk.
 * COPY_NOWHERE: none. */
static uint64_t next_upwards(const struct walker *w, uint64_t place, uint64_t bytes)
{
    const struct copy *const copy = w->copy;
    const size_t chunk = (size_t)(place >> 32);
    const uint64_t end = (place & UINT32_MAX) + bytes;
    const unsigned char *const header =
        copy_at(copy, COPY_A, (uint64_t)chunk << 32, COPY_CHUNK_HEADER_BYTES);
    if (!header || end > copy->chunks[chunk].size)
        return COPY_NOWHERE;
    const uint64_t used =
        COPY_CHUNK_HEADER_BYTES + field_u64(header, 2 * WALK_WORD) * WALK_WORD;
    if (chunk + 1 == copy->chunk_count || end < used)
        return (uint64_t)chunk << 32 | end;
    return (uint64_t)(chunk + 1) << 32 | COPY_CHUNK_HEADER_BYTES;
}

/* Was the frame part of the stack when it was read?  From 3.14 on a popped frame has no code.  Before, a
 * frame below the top is live if its caller waits for it; but a caller of C code does not show that
 * it waits. */
static bool is_live(const struct walker *w, const struct walk_frame *frame,
                    const unsigned char *bytes, const struct walk_frame *caller,
                    const unsigned char *caller_bytes)
{
    if (w->clears_executable)
        return !frame->has_returned;
    if (!caller_bytes)
        return true;
    const bool entered = field_u64(bytes, w->layout->frame_previous) != caller->addr ||
                         (w->layout->frame_is_entry && bytes[w->layout->frame_is_entry] != 0);
    return entered ? frame->addr < copy_stack_top(w->copy)
                   : walk_is_waiting(w, caller, caller_bytes, false);
}

/* Is the frame called by `caller`, directly or through entry frames? */
static bool is_called_by(const struct walker *w, const unsigned char *bytes, remote_addr caller)
{
    remote_addr addr = field_u64(bytes, w->layout->frame_previous);
    for (int i = 0; i < WALK_MAX_ENTRIES && addr && addr != caller; i++) {
        const unsigned char *const entry = copy_off_chunk(w->copy, COPY_A, addr);
        if (!entry || !copy_is_entry(w->layout, entry))
            return false;
        addr = field_u64(entry, w->layout->frame_previous);
    }
    return addr == caller;
}

/* The walk upwards begins at the innermost unchanged frame in the chunks. */
static uint64_t first_upwards(const struct walker *w)
{
    size_t from = w->reusable;
    while (from && w->walk->frames[from - 1].is_off_chunk)
        from--;
    if (from)
        return w->walk->frames[from - 1].place;
    return w->copy->chunk_count ? COPY_CHUNK_HEADER_BYTES + WALK_WORD : COPY_NOWHERE;
}

struct past_frame walk_find_leaf(struct walker *w)
{
    struct past_frame leaf = { 0 };
    struct walk_frame frame, caller = { 0 };
    const unsigned char *caller_bytes = NULL;
    uint64_t place = first_upwards(w);
    for (size_t i = walk_max_frames(w->copy); i && place != COPY_NOWHERE; i--) {
        const unsigned char *const bytes =
            copy_at(w->copy, COPY_A, place, w->layout->frame_bytes);
        const remote_addr addr =
            bytes ? w->copy->chunks[place >> 32].addr + (place & UINT32_MAX) : 0;
        w->walk->leaf_is_sure = bytes != NULL;
        if (!bytes || walk_make_frame(w, addr, bytes, &frame) != FOUND_FRAME)
            break;
        if (leaf.addr && (!is_live(w, &frame, bytes, &caller, caller_bytes) ||
                          !is_called_by(w, bytes, leaf.addr)))
            break;
        const uint64_t size =
            (uint64_t)code_at(w->context->codes, frame.code)->frame_words * WALK_WORD;
        if (size < w->layout->frame_bytes - WALK_WORD || size > COPY_MAX_CHUNK_BYTES)
            break;
        leaf =
            (struct past_frame){ addr, frame.instr, field_u64(bytes, w->layout->frame_previous),
                                 frame.code, walk_is_entered_from_c(w, place, bytes) };
        caller = frame;
        caller_bytes = bytes;
        place = next_upwards(w, place, size);
    }
    return leaf;
}
