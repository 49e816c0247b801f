#include "sampler/cpython/stack/walk.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/stack/walk_parts.h"

enum { MAX_FETCHES = 256 /* of loose frames in one walk; more are found by the next ones */ };

void walk_deinit(struct walk *walk)
{
    free(walk->frames);
    free(walk->inner);
    memset(walk, 0, sizeof *walk);
}

/* Frames of the walk before whose bytes in the chunks are as they were. */
static size_t unchanged_in_chunks(const struct walk *walk, const struct copy *copy)
{
    const uint64_t changed = copy_changed_from(copy);
    size_t at;
    if (changed == COPY_NOWHERE)
        return walk->count;
    LOWER_BOUND(at, walk->count, walk->frames[at].place + copy->layout->frame_bytes <= changed);
    return at;
}

static size_t unchanged_frames(const struct walk *walk, const struct copy *copy)
{
    const size_t count = unchanged_in_chunks(walk, copy);
    if (copy->off_chunk_count == 0 || copy_off_chunk_is_same(copy))
        return count;
    for (size_t i = 0; i < count; i++) {
        if (!walk->frames[i].is_off_chunk)
            continue;
        const unsigned char *const now = copy_off_chunk(copy, COPY_A, walk->frames[i].addr);
        const unsigned char *const last = copy_off_chunk(copy, COPY_LAST, walk->frames[i].addr);
        if (!now || !last || memcmp(now, last, copy->layout->frame_bytes) != 0)
            return i;
    }
    return count;
}

static enum err_code push_inner(struct walk *walk, const struct walk_frame *frame)
{
    if (!VEC_RESERVE(walk->inner, walk->inner_room, walk->inner_count + 1))
        return ERR_NOMEM;
    walk->inner[walk->inner_count++] = *frame;
    return ERR_OK;
}

/* What a frame that does not wait had called has returned.  A caller in C code does not show that
 * it waits before 3.14. */
static void see_if_waiting(struct walker *w, struct walk_frame *caller,
                           const unsigned char *bytes)
{
    struct walk *const walk = w->walk;
    if (walk->inner_count == 0)
        return;
    struct walk_frame *const callee = &walk->inner[walk->inner_count - 1];
    caller->is_waiting =
        walk_is_waiting(w, caller, bytes, callee->is_off_chunk && !callee->entered_from_c);
    if ((w->clears_executable || !callee->entered_from_c) && !caller->is_waiting)
        callee->has_returned = true;
}

/* Frames of the walk before that lie above `place` are not outside of it. */
static bool is_among_kept(struct walker *w, remote_addr addr, uint64_t place)
{
    const struct walk_frame *const frames = w->walk->frames;
    if (place == COPY_NOWHERE) {
        for (size_t i = w->kept; i > 0 && frames[i - 1].is_off_chunk; i--)
            if (frames[i - 1].addr == addr) {
                w->kept = i;
                return true;
            }
        return false;
    }
    while (w->kept &&
           (frames[w->kept - 1].place > place ||
            (frames[w->kept - 1].place == place && frames[w->kept - 1].addr != addr)))
        w->kept--;
    return w->kept && frames[w->kept - 1].addr == addr;
}

/* The bytes of a frame, read now if they have not been; NULL: they cannot be. */
static const unsigned char *bytes_of(struct walker *w, remote_addr addr, uint64_t place,
                                     enum err_code *rc)
{
    if (place != COPY_NOWHERE)
        return copy_at(w->copy, COPY_A, place, w->layout->frame_bytes);
    const unsigned char *const bytes = copy_off_chunk(w->copy, COPY_A, addr);
    if (bytes || w->fetched == MAX_FETCHES)
        return bytes;
    w->fetched++;
    const enum err_code fetched = copy_fetch_off_chunk(w->copy, addr, w->running);
    *rc = fetched == ERR_NOMEM ? fetched : ERR_OK;
    return fetched ? NULL : copy_off_chunk(w->copy, COPY_A, addr);
}

/* Whom a frame was called by; a generator that has yielded meanwhile, by whom it was resumed. */
static remote_addr caller_of(struct walker *w, const unsigned char *bytes,
                             struct walk_frame *frame)
{
    const remote_addr previous = field_u64(bytes, w->layout->frame_previous);
    if (!frame->is_off_chunk)
        return previous;
    copy_mark_used(w->copy, frame->addr, previous);
    if (previous)
        return previous;
    frame->has_returned = true;
    return copy_off_chunk_caller(w->copy, frame->addr);
}

static struct walk_frame frame_of_slot(const struct slot *slot)
{
    return (struct walk_frame){ .addr = slot->addr,
                                .instr = slot->instr,
                                .code = slot->code,
                                .entered_from_c = slot->entered_from_c,
                                .has_returned = true };
}

/* What is known to have lain there, where nothing is left of it. */
static bool recall(const struct walker *w, remote_addr addr, struct walk_frame *out,
                   remote_addr *caller)
{
    const struct walk *const walk = w->walk;
    const code_id callee =
        walk->inner_count ? walk->inner[walk->inner_count - 1].code : CODE_NONE;
    const struct slot *const slot = frame_history_find(w->context->slots, w->context->codes,
                                                       w->context->links, addr, callee);
    if (!slot)
        return false;
    *out = frame_of_slot(slot);
    *caller = slot->caller;
    return true;
}

/* The frame that ran at first is not the innermost one any more: it may have been another that lay
 * there.  What was seen to run there in readings before is as likely to be it as it was to be
 * seen. */
static bool replace_innermost(const struct walker *w, remote_addr addr, uint64_t place,
                              struct walk_frame *out, remote_addr *caller)
{
    if (w->walk->inner_count || place == COPY_NOWHERE || addr == w->walk->leaf.addr ||
        !w->walk->leaf_is_sure || w->has_generators)
        return false;
    const struct slot *const slot = frame_history_find(w->context->runners, w->context->codes,
                                                       w->context->links, addr, CODE_NONE);
    if (!slot)
        return false;
    *out = frame_of_slot(slot);
    *caller = slot->caller;
    return true;
}

/* A generator that ran and does not any more is put where it was last seen to run. */
static void replace_generator(struct walker *w, const unsigned char *bytes,
                              struct walk_frame *frame)
{
    struct walk *const walk = w->walk;
    const enum code_act act = code_act_at(w->context->codes, frame->code, frame->instr);
    const remote_addr previous = field_u64(bytes, w->layout->frame_previous);
    if (previous && act == CODE_ACTS && !frame->has_returned) {
        walk->leaf = (struct slot){ frame->addr, frame->instr, previous, frame->code, false };
        return;
    }
    const struct slot *const slot = frame_history_find(
        w->context->runners, w->context->codes, w->context->links, frame->addr, CODE_NONE);
    if (!slot || slot->code != frame->code)
        return;
    frame->instr = slot->instr;
    frame->has_returned = true;
}

/* What comes of one frame on the way. */
enum step { STEP_ON, STEP_DONE, STEP_LOST };

static enum step step_to_frame(struct walker *w, remote_addr addr, uint64_t place,
                               const unsigned char *bytes, remote_addr *next, enum err_code *rc)
{
    struct walk *const walk = w->walk;
    struct walk_frame frame;
    enum found found = walk_make_frame(w, addr, bytes, &frame);
    const bool is_replaced = replace_innermost(w, addr, place, &frame, next);
    const bool is_lost =
        found == FOUND_NOTHING || (found == FOUND_BEGINNING && walk->inner_count);
    if (!is_replaced && is_lost && !recall(w, addr, &frame, next))
        return STEP_LOST;
    frame.place = place;
    frame.is_off_chunk = place == COPY_NOWHERE;
    if (!frame.is_off_chunk) {
        /* Callers lie below what they call. */
        if (place >= w->place)
            return STEP_LOST;
        w->place = place;
    }
    if (!is_lost && !is_replaced) {
        if (frame.is_off_chunk && walk->inner_count == 0)
            replace_generator(w, bytes, &frame);
        *next = caller_of(w, bytes, &frame);
        if (found == FOUND_BEGINNING)
            return walk_is_outermost(w, place) ? STEP_DONE : STEP_ON;
        see_if_waiting(w, &frame, bytes);
        frame.entered_from_c = walk_is_entered_from_c(w, place, bytes);
    }
    *rc = push_inner(walk, &frame);
    /* The outermost frame is where it is because there is nothing before it. */
    return *rc || walk_is_outermost(w, place) ? STEP_DONE : STEP_ON;
}

/* Of a frame whose memory is gone, only what is remembered is known. */
static enum step step_to_lost(struct walker *w, remote_addr addr, uint64_t place,
                              remote_addr *next, enum err_code *rc)
{
    struct walk_frame frame;
    if (place == COPY_NOWHERE || place >= w->place || !recall(w, addr, &frame, next))
        return STEP_LOST;
    frame.place = w->place = place;
    *rc = push_inner(w->walk, &frame);
    return *rc || walk_is_outermost(w, place) ? STEP_DONE : STEP_ON;
}

static enum step step_through_entry(struct walker *w, remote_addr addr,
                                    const unsigned char *bytes, remote_addr *next)
{
    struct walk *const walk = w->walk;
    copy_mark_used(w->copy, addr, 0);
    *next = field_u64(bytes, w->layout->frame_previous);
    if (walk->inner_count)
        walk->inner[walk->inner_count - 1].entered_from_c = *next != 0;
    /* Only below the first frame of a thread there is nothing. */
    const bool is_base = w->layout->tstate_base_frame &&
                         addr == field_u64(w->copy->tstate, w->layout->tstate_base_frame);
    return *next || walk->inner_count || is_base ? STEP_ON : STEP_LOST;
}

static enum step step_to(struct walker *w, remote_addr addr, remote_addr *next,
                         enum err_code *rc)
{
    const uint64_t place = copy_place_near(w->copy, addr, w->place);
    const bool is_kept = is_among_kept(w, addr, place);
    const unsigned char *const bytes = bytes_of(w, addr, place, rc);
    if (*rc)
        return STEP_DONE;
    if (!bytes)
        return step_to_lost(w, addr, place, next, rc);
    if (is_kept) {
        see_if_waiting(w, &w->walk->frames[w->kept - 1], bytes);
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

/* Walks outwards until there is no caller, or one that is known from the walk before. */
static enum step walk_out(struct walker *w, enum err_code *rc)
{
    const size_t most = walk_max_frames(w->copy) + MAX_FETCHES;
    remote_addr addr = w->running;
    size_t entries = 0;
    enum step step = STEP_ON;
    for (size_t i = 0; i < most && addr; i++) {
        remote_addr next = 0;
        const size_t count = w->walk->inner_count;
        step = step_to(w, addr, &next, rc);
        if (step != STEP_ON)
            break;
        entries = w->walk->inner_count == count ? entries + 1 : 0;
        if (entries > WALK_MAX_ENTRIES)
            return STEP_LOST;
        addr = next;
    }
    if (step != STEP_ON)
        return step;
    w->kept = 0;
    /* The chain of a frame ends below the outermost one in the chunks, if there is any. */
    return addr || (w->walk->inner_count && has_frames(w->copy)) ? STEP_LOST : STEP_DONE;
}

static enum err_code reserve_frames(struct walk *walk, size_t count)
{
    return VEC_RESERVE(walk->frames, walk->room, count) ? ERR_OK : ERR_NOMEM;
}

/* Puts a frame on top; what stood at its depth in the walk before is compared with it. */
static void put_frame(struct walk *walk, size_t before, struct walk_frame frame)
{
    const size_t at = walk->count;
    struct walk_frame *const slot = &walk->frames[at];
    if (frame.is_off_chunk)
        frame.place = at ? slot[-1].place : 0;
    if (at < before && walk->same_codes == at && slot->code == frame.code)
        walk->same_codes++;
    if (at < before && walk->same == at && slot->code == frame.code &&
        slot->instr == frame.instr && slot->entered_from_c == frame.entered_from_c) {
        walk->same++;
        memcpy(frame.tags, slot->tags, sizeof frame.tags);
    }
    *slot = frame;
    walk->count++;
}

/* The frames that are taken over, and above them those that were found. */
static enum err_code put_together(struct walk *walk, size_t kept)
{
    const size_t before = walk->count;
    const enum err_code rc = reserve_frames(walk, kept + walk->inner_count);
    if (rc)
        return rc;
    walk->count = walk->kept = walk->same = walk->same_codes = kept;
    for (size_t i = walk->inner_count; i-- > 0;)
        put_frame(walk, before, walk->inner[i]);
    return ERR_OK;
}

static bool has_generators(const struct copy *copy)
{
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        if (!copy->off_chunk[i].is_entry)
            return true;
    return false;
}

static struct walker make_walker(struct walk *walk, struct copy *copy, remote_addr running,
                                 const struct walk_context *context)
{
    /* In 3.11 and 3.12 the frame that ran is read after the top, and may have been pushed since. */
    const bool is_bounded = copy->layout->tstate_current_frame || !running;
    const uint64_t top = is_bounded ? copy_place(copy, copy_stack_top(copy)) : COPY_NOWHERE;
    return (struct walker){
        .walk = walk,
        .copy = copy,
        .layout = copy->layout,
        .context = context,
        .running = running,
        .kept = unchanged_frames(walk, copy),
        .place = top,
        .clears_executable = LAYOUT_MINOR(copy->layout->version) >= 14,
        .has_generators = has_generators(copy),
    };
}

/* Where the way is lost, the outer frames are still there: those that lie below what was seen. */
static enum err_code walk_below(struct walker *w, size_t kept)
{
    struct walk *const walk = w->walk;
    const uint64_t lost = w->place;
    enum err_code rc = ERR_OK;
    walk->inner_count = 0;
    walk->is_broken = true;
    w->running = walk->leaf.addr;
    w->kept = kept;
    w->place = COPY_NOWHERE;
    if (walk_out(w, &rc) == STEP_LOST)
        w->kept = walk->inner_count = 0;
    if (!rc)
        rc = put_together(walk, w->kept);
    while (!rc && walk->count && walk->frames[walk->count - 1].place >= lost)
        walk->count--;
    return rc;
}

static enum err_code walk_with(struct walker *w)
{
    struct walk *const walk = w->walk;
    const size_t kept = w->kept;
    enum err_code rc = ERR_OK;
    walk->inner_count = 0;
    if (walk_out(w, &rc) == STEP_LOST && !rc)
        return walk_below(w, kept);
    return rc ? rc : put_together(walk, w->kept);
}

static struct walker begin(struct walk *walk, struct copy *copy, remote_addr running,
                           const struct walk_context *context)
{
    struct walker w = make_walker(walk, copy, running, context);
    walk->loaded = walk->is_broken = false;
    walk->leaf = walk_find_leaf(&w);
    return w;
}

enum err_code walk_reading(struct walk *walk, struct copy *copy, remote_addr running,
                           const struct walk_context *context)
{
    struct walker w = begin(walk, copy, running, context);
    return walk_with(&w);
}

enum err_code walk_from_top(struct walk *walk, struct copy *copy,
                            const struct walk_context *context)
{
    struct walker w = begin(walk, copy, 0, context);
    w.running = walk->leaf.addr;
    return walk_with(&w);
}
