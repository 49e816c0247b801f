#include "sampler/cpython/stack/heap_frames.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"

enum {
    UNIT_BYTES = 2,
    FIRST_IN_STACK =
        8, /* innermost frames of the stack before that are read before all others */
};

void heap_frames_init(struct heap_frames *heap, struct copy *copy)
{
    memset(heap, 0, sizeof *heap);
    heap->copy = copy;
    idmap_init(&heap->index);
}

void heap_frames_deinit(struct heap_frames *heap)
{
    idmap_deinit(&heap->index);
    free(heap->items);
    free(heap->frames[0]);
    free(heap->frames[1]);
    memset(heap, 0, sizeof *heap);
}

static const struct layout *layout_of(const struct heap_frames *heap)
{
    return heap->copy->layout;
}

static struct heap_frame *find(const struct heap_frames *heap, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &heap->index, hash_mix(addr, 0), heap->items[at->id].addr == addr);
    return at ? &heap->items[at->id] : NULL;
}

static enum err_code add(struct heap_frames *heap, remote_addr addr, struct heap_frame **out)
{
    if (heap->count == HEAP_FRAMES_MAX)
        return ERR_LIMIT;
    if (!VEC_RESERVE(heap->items, heap->room, heap->count + 1))
        return ERR_NOMEM;
    struct heap_frame *const item = &heap->items[heap->count];
    memset(item, 0, sizeof *item);
    item->addr = addr;
    const enum err_code rc =
        idmap_add(&heap->index, hash_mix(addr, 0), (uint32_t)heap->count, NULL);
    if (!rc) {
        heap->count++;
        *out = item;
    }
    return rc;
}

static size_t again_count(const struct heap_frames *heap, bool is_quick)
{
    if (is_quick || heap->copy->is_still)
        return 0;
    return heap->count < HEAP_FRAMES_AGAIN ? heap->count : HEAP_FRAMES_AGAIN;
}

size_t heap_frames_plan_count(const struct heap_frames *heap, bool is_quick)
{
    return 1 + heap->count + again_count(heap, is_quick);
}

/* Bytes of a frame's head that carry no information are read, but not compared. */
static void plan_frame(struct heap_frames *heap, size_t index, enum heap_reading reading,
                       struct memory_span *span)
{
    struct heap_frame *const item = &heap->items[index];
    *span = (struct memory_span){ item->addr, item->reading[reading],
                                  layout_of(heap)->frame_bytes };
}

size_t heap_frames_plan(struct heap_frames *heap, bool is_quick, struct memory_span *spans)
{
    struct copy *const copy = heap->copy;
    size_t count = 0;
    heap->readings++;
    heap->planned_again = again_count(heap, is_quick);
    spans[count++] =
        (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    for (size_t i = 0; i < heap->count; i++) {
        memset(heap->items[i].has, 0, HEAP_LAST);
        plan_frame(heap, i, HEAP_A, &spans[count++]);
    }
    for (size_t i = 0; i < heap->planned_again; i++)
        plan_frame(heap, i, HEAP_B, &spans[count++]);
    copy->plan_spans = count;
    return count;
}

static void mark_read(struct heap_frames *heap, size_t place)
{
    if (place == 0)
        return;
    const size_t index = place - 1;
    if (index < heap->count)
        heap->items[index].has[HEAP_A] = true;
    else
        heap->items[index - heap->count].has[HEAP_B] = true;
}

/* Marks the spans from `from` on that arrived completely; returns the first that did not. */
static size_t mark_arrived(struct heap_frames *heap, const struct memory_span *spans,
                           size_t from, size_t count, size_t arrived)
{
    size_t at = from;
    while (at < count && arrived >= spans[at].bytes) {
        arrived -= spans[at].bytes;
        mark_read(heap, at++);
    }
    return at;
}

static bool is_our_thread(const struct heap_frames *heap)
{
    const struct copy *const copy = heap->copy;
    return !copy->ident ||
           field_u64(copy->tstate, copy->layout->tstate_thread_id) == copy->ident;
}

/* A frame's memory may have been freed; another call reads the spans after it. */
static enum err_code read_from(struct heap_frames *heap, const struct memory_span *spans,
                               size_t at, size_t count)
{
    size_t arrived;
    while (at < count) {
        const size_t some = count - at < MEMORY_MAX_SPANS ? count - at : MEMORY_MAX_SPANS;
        const enum err_code rc = memory_readv(heap->copy->memory, spans + at, some, &arrived);
        if (rc && rc != ERR_FAULT)
            return rc;
        const size_t past = mark_arrived(heap, spans, at, at + some, arrived);
        if (past == 0)
            return ERR_GONE;
        at = past + (past < at + some);
    }
    return is_our_thread(heap) ? ERR_OK : ERR_GONE;
}

enum err_code heap_frames_settle(struct heap_frames *heap, const struct memory_span *spans,
                                 size_t count, size_t arrived)
{
    const size_t past = mark_arrived(heap, spans, 0, count, arrived);
    return past == 0 ? ERR_GONE : read_from(heap, spans, past + (past < count), count);
}

enum err_code heap_frames_read(struct heap_frames *heap)
{
    const size_t count = heap_frames_plan_count(heap, false);
    struct memory_span *const spans = malloc(count * sizeof *spans);
    if (!spans)
        return ERR_NOMEM;
    (void)heap_frames_plan(heap, false, spans);
    const enum err_code rc = read_from(heap, spans, 0, count);
    free(spans);
    return rc;
}

/* 3.8 and 3.9 have a flag; 3.10 has a state, which is 0 while the frame runs. */
bool heap_frame_executes(const struct layout *layout, const unsigned char *bytes)
{
    const bool flag = bytes[layout->frame_executing] != 0;
    return layout->has_heap_frame_state ? !flag : flag;
}

/* Compares two readings without the object's head, which counts references. */
static bool is_equal(const struct heap_frames *heap, const struct heap_frame *item,
                     enum heap_reading a, enum heap_reading b)
{
    const struct layout *const layout = layout_of(heap);
    const uint32_t from = layout->frame_previous;
    return item->has[a] && item->has[b] &&
           memcmp(item->reading[a] + from, item->reading[b] + from,
                  layout->frame_bytes - from) == 0;
}

static remote_addr running_of(const struct heap_frames *heap)
{
    return field_u64(heap->copy->tstate, layout_of(heap)->tstate_current_frame);
}

bool heap_frames_are_same(const struct heap_frames *heap)
{
    if (!heap->walks || heap->is_broken || running_of(heap) != heap->running)
        return false;
    for (size_t i = 0; i < heap->frame_count; i++) {
        const struct heap_frame *const item = find(heap, heap->frames[0][i].addr);
        if (!item || !is_equal(heap, item, HEAP_A, HEAP_LAST))
            return false;
    }
    return true;
}

/* Reads a frame that was not predicted, after all others. */
static enum err_code fetch(struct heap_frames *heap, remote_addr addr, struct heap_frame **out)
{
    struct heap_frame *item = find(heap, addr);
    enum err_code rc = item ? ERR_OK : add(heap, addr, &item);
    if (!rc)
        rc = memory_read(heap->copy->memory, addr, item->reading[HEAP_A],
                         layout_of(heap)->frame_bytes);
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
        heap, codes, field_u64(bytes, layout_of(heap)->frame_executable), &out->code);
    if (rc)
        return rc;
    out->instr = heap_frame_instr(layout_of(heap), code_at(codes, out->code), bytes);
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
    const remote_addr caller = field_u64(bytes, layout_of(heap)->frame_previous);
    if (!caller && !heap_frame_executes(layout_of(heap), bytes))
        return item->caller;
    item->caller = caller;
    return caller;
}

/* One step of the walk; *next: the caller's frame.  ERR_CORRUPT, ERR_FAULT, ERR_LIMIT: the walk ends. */
static enum err_code step(struct heap_frames *heap, struct code_table *codes, remote_addr addr,
                          size_t *fetched, remote_addr *next)
{
    struct walk_frame frame;
    struct heap_frame *item = find(heap, addr);
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

static void turn_round(struct walk_frame *frames, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const struct walk_frame frame = frames[i];
        frames[i] = frames[count - 1 - i];
        frames[count - 1 - i] = frame;
    }
}

/* Copies the caller's tags to the outermost frames that are the same as in the previous walk. */
static void take_over(struct heap_frames *heap)
{
    struct walk_frame *const now = heap->frames[0];
    const struct walk_frame *const last = heap->frames[1];
    for (size_t i = 0; i < heap->frame_count && i < heap->last_count; i++) {
        if (now[i].addr != last[i].addr || now[i].code != last[i].code ||
            now[i].instr != last[i].instr)
            break;
        memcpy(now[i].tags, last[i].tags, sizeof now[i].tags);
    }
}

enum err_code heap_frames_walk(struct heap_frames *heap, struct code_table *codes)
{
    enum err_code rc = ERR_OK;
    size_t fetched = 0;
    struct walk_frame *const before = heap->frames[0];
    heap->frames[0] = heap->frames[1];
    heap->frames[1] = before;
    heap->last_count = heap->frame_count;
    heap->frame_count = 0;
    heap->is_complete = true;
    heap->is_broken = false;
    heap->walks++;
    heap->running = running_of(heap);
    for (remote_addr addr = heap->running; addr && !rc;)
        rc = step(heap, codes, addr, &fetched, &addr);
    if (rc == ERR_NOMEM)
        return rc;
    turn_round(heap->frames[0], heap->frame_count);
    take_over(heap);
    heap->is_broken = rc != ERR_OK;
    return ERR_OK;
}

static bool is_sure(const struct heap_frames *heap, const struct walk_frame *frame)
{
    const uint32_t previous = layout_of(heap)->frame_previous;
    const uint32_t code = layout_of(heap)->frame_executable;
    const struct heap_frame *const item = find(heap, frame->addr);
    if (!item || !heap_frame_executes(layout_of(heap), item->reading[HEAP_A]))
        return false;
    if (!item->has[HEAP_B])
        return is_equal(heap, item, HEAP_A, HEAP_LAST);
    const unsigned char *const a = item->reading[HEAP_A], *const b = item->reading[HEAP_B];
    return field_u64(a, previous) == field_u64(b, previous) &&
           field_u64(a, code) == field_u64(b, code) && heap_frame_executes(layout_of(heap), b);
}

size_t heap_frames_sure(const struct heap_frames *heap)
{
    size_t sure = 0;
    while (sure < heap->frame_count && is_sure(heap, &heap->frames[0][sure]))
        sure++;
    return sure;
}

/* The order of reading: first the frames that may return soonest.  These are the innermost ones, then
 * those that were part of the stack lately, then the rest. */
static int order(const struct heap_frames *heap, size_t from_top, const struct heap_frame *item)
{
    if (item->last_used != heap->readings)
        return 1;
    return from_top < FIRST_IN_STACK ? 0 : 2;
}

static void move_to(struct heap_frame *out, size_t *count, const struct heap_frame *item)
{
    out[(*count)++] = *item;
}

/* Sorts the frames into the order of reading, and drops those idle for long. */
static bool sort_items(struct heap_frames *heap)
{
    struct heap_frame *const sorted = malloc((heap->count + 1) * sizeof *sorted);
    size_t count = 0;
    if (!sorted)
        return false;
    for (int pass = 0; pass < 3; pass++) {
        if (pass == 1) {
            for (size_t i = 0; i < heap->count; i++)
                if (order(heap, 0, &heap->items[i]) == 1 &&
                    heap->readings - heap->items[i].last_used < HEAP_FRAMES_IDLE_READINGS)
                    move_to(sorted, &count, &heap->items[i]);
            continue;
        }
        for (size_t i = 0; i < heap->frame_count; i++) {
            const struct heap_frame *const item =
                find(heap, heap->frames[0][heap->frame_count - 1 - i].addr);
            if (item && order(heap, i, item) == pass)
                move_to(sorted, &count, item);
        }
    }
    free(heap->items);
    heap->items = sorted;
    heap->room = heap->count + 1;
    heap->count = count;
    return true;
}

static bool is_in_order(const struct heap_frames *heap)
{
    const size_t first =
        heap->frame_count < FIRST_IN_STACK ? heap->frame_count : FIRST_IN_STACK;
    for (size_t i = 0; i < first; i++)
        if (i >= heap->count ||
            heap->items[i].addr != heap->frames[0][heap->frame_count - 1 - i].addr)
            return false;
    return heap->readings % HEAP_FRAMES_IDLE_READINGS != 0;
}

void heap_frames_accept(struct heap_frames *heap)
{
    for (size_t i = 0; i < heap->count; i++) {
        struct heap_frame *const item = &heap->items[i];
        item->has[HEAP_LAST] = item->has[HEAP_A];
        if (item->has[HEAP_A])
            memcpy(item->reading[HEAP_LAST], item->reading[HEAP_A],
                   layout_of(heap)->frame_bytes);
    }
    if (is_in_order(heap) || !sort_items(heap))
        return;
    idmap_clear(&heap->index);
    for (size_t i = 0; i < heap->count; i++)
        if (idmap_add(&heap->index, hash_mix(heap->items[i].addr, 0), (uint32_t)i, NULL)) {
            /* The frames that do not fit are read again. */
            heap->count = i;
            break;
        }
}
