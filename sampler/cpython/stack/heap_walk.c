#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/heap_frames_parts.h"

enum { UNIT_BYTES = 2 };

/* 3.8 and 3.9 have a flag; 3.10 has a state, which is 0 while the frame runs. */
bool heap_frame_executes(const struct layout *layout, const unsigned char *bytes)
{
    const bool flag = bytes[layout->frame_executing] != 0;
    return layout->has_heap_frame_state ? !flag : flag;
}

/* Reads a frame that was not predicted, after all others. */
static enum err_code fetch(struct heap_frames *heap, remote_addr addr, struct heap_frame **out)
{
    struct heap_frame *item = heap_find(heap, addr);
    enum err_code rc = item ? ERR_OK : heap_add(heap, addr, &item);
    if (!rc)
        rc = memory_read(heap->copy->memory, addr, item->reading[HEAP_A],
                         heap->copy->layout->frame_bytes);
    if (rc)
        return rc;
    item->has[HEAP_A] = true;
    item->has[HEAP_B] = false;
    heap->is_complete = false;
    *out = item;
    return ERR_OK;
}

static enum err_code code_there(struct heap_frames *heap, struct code_table *codes,
                                remote_addr addr, code_id *out)
{
    *out = code_find(codes, addr, 0);
    if (*out != CODE_NONE)
        return ERR_OK;
    heap->is_complete = false;
    return code_load(codes, addr, 0, out);
}

/* -1 (nothing has run yet) becomes one unit before the start. */
remote_addr heap_frame_instr(const struct layout *layout, const struct code *code,
                             const unsigned char *bytes)
{
    const int32_t lasti = (int32_t)field_u32(bytes, layout->frame_lasti);
    const int64_t factor = layout->has_heap_frame_state ? UNIT_BYTES : 1;
    return lasti < 0 ? code->instructions - UNIT_BYTES
                     : code->instructions + (uint64_t)(lasti * factor);
}

static enum err_code make_frame(struct heap_frames *heap, struct code_table *codes,
                                const struct heap_frame *item, struct walk_frame *out)
{
    const unsigned char *const bytes = item->reading[HEAP_A];
    *out =
        (struct walk_frame){ .addr = item->addr, .is_off_chunk = true, .place = COPY_NOWHERE };
    const enum err_code rc = code_there(
        heap, codes, field_u64(bytes, heap->copy->layout->frame_executable), &out->code);
    if (rc)
        return rc;
    out->instr = heap_frame_instr(heap->copy->layout, code_at(codes, out->code), bytes);
    return ERR_OK;
}

static enum err_code push(struct heap_frames *heap, const struct walk_frame *frame)
{
    if (heap->frame_count == HEAP_FRAMES_MAX)
        return ERR_LIMIT;
    size_t room = 0;
    for (int i = 0; i < 2; i++) {
        room = heap->frame_room;
        if (!VEC_RESERVE(heap->frames[i], room, heap->frame_count + 1))
            return ERR_NOMEM;
    }
    heap->frame_room = room;
    heap->frames[0][heap->frame_count++] = *frame;
    return ERR_OK;
}

/* A generator that has yielded since has no link to a caller; its last caller is used. */
static remote_addr caller_of(const struct heap_frames *heap, struct heap_frame *item)
{
    const unsigned char *const bytes = item->reading[HEAP_A];
    const remote_addr caller = field_u64(bytes, heap->copy->layout->frame_previous);
    if (!caller && !heap_frame_executes(heap->copy->layout, bytes))
        return item->caller;
    item->caller = caller;
    return caller;
}

/* One step of the walk; *next: the caller's frame.  ERR_CORRUPT, ERR_FAULT, ERR_LIMIT: the walk ends. */
static enum err_code step_outwards(struct heap_frames *heap, struct code_table *codes,
                                   remote_addr addr, size_t *fetched, remote_addr *next)
{
    struct walk_frame frame;
    struct heap_frame *item = heap_find(heap, addr);
    enum err_code rc = ERR_OK;
    if (!item || !item->has[HEAP_A])
        rc = (*fetched)++ < HEAP_FRAMES_MAX_FETCHES ? fetch(heap, addr, &item) : ERR_LIMIT;
    if (!rc && item->walked == heap->walks)
        rc = ERR_CORRUPT;
    if (!rc)
        rc = make_frame(heap, codes, item, &frame);
    if (!rc)
        rc = push(heap, &frame);
    if (rc)
        return rc;
    item->walked = heap->walks;
    item->last_used = heap->readings;
    *next = caller_of(heap, item);
    return ERR_OK;
}

static bool is_sure(const struct heap_frames *heap, const struct walk_frame *frame)
{
    const uint32_t previous = heap->copy->layout->frame_previous;
    const uint32_t code = heap->copy->layout->frame_executable;
    const struct heap_frame *const item = heap_find(heap, frame->addr);
    if (!item || !heap_frame_executes(heap->copy->layout, item->reading[HEAP_A]))
        return false;
    if (!item->has[HEAP_B])
        return heap_is_equal(heap, item, HEAP_A, HEAP_LAST);
    const unsigned char *const a = item->reading[HEAP_A], *const b = item->reading[HEAP_B];
    return field_u64(a, previous) == field_u64(b, previous) &&
           field_u64(a, code) == field_u64(b, code) &&
           heap_frame_executes(heap->copy->layout, b);
}

enum err_code heap_frames_walk(struct heap_frames *heap, struct code_table *codes)
{
    struct walk_frame *const before = heap->frames[0];
    enum err_code rc = ERR_OK;
    size_t fetched = 0;
    heap->frames[0] = heap->frames[1];
    heap->frames[1] = before;
    heap->last_count = heap->frame_count;
    heap->frame_count = 0;
    heap->is_complete = true;
    heap->running = heap_running(heap);
    heap->walks++;
    for (remote_addr addr = heap->running; addr && !rc;)
        rc = step_outwards(heap, codes, addr, &fetched, &addr);
    struct walk_frame *const frames = heap->frames[0];
    const size_t count = heap->frame_count;
    for (size_t i = 0; i < count / 2; i++) {
        const struct walk_frame frame = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }

    heap->is_broken = rc;
    if (rc == ERR_NOMEM)
        return rc;

    /* The outermost frames that are the same as in the previous walk keep the caller's tags. */
    struct walk_frame *const now = heap->frames[0];
    const struct walk_frame *const last = heap->frames[1];
    for (size_t i = 0; i < heap->frame_count && i < heap->last_count; i++) {
        if (now[i].addr != last[i].addr || now[i].code != last[i].code ||
            now[i].instr != last[i].instr)
            break;
        memcpy(now[i].tags, last[i].tags, sizeof now[i].tags);
    }

    return ERR_OK;
}

size_t heap_frames_sure(const struct heap_frames *heap)
{
    size_t sure = 0;
    while (sure < heap->frame_count && is_sure(heap, &heap->frames[0][sure]))
        sure++;
    return sure;
}
