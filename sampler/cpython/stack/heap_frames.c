#include "sampler/cpython/stack/heap_frames.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/heap_parts.h"

/* Innermost frames of the stack before that are read before all others. */
enum { FIRST_IN_STACK = 8 };

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

struct heap_frame *heap_find(const struct heap_frames *heap, remote_addr addr)
{
    struct idmap_slot *at;
    IDMAP_FIND(at, &heap->index, hash_mix(addr, 0), heap->items[at->id].addr == addr);
    return at ? &heap->items[at->id] : NULL;
}

enum err_code heap_add(struct heap_frames *heap, remote_addr addr, struct heap_frame **out)
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
                                  heap->copy->layout->frame_bytes };
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

bool heap_is_equal(const struct heap_frames *heap, const struct heap_frame *item,
                   enum heap_reading a, enum heap_reading b)
{
    const struct layout *const layout = heap->copy->layout;
    const uint32_t from = layout->frame_previous;
    return item->has[a] && item->has[b] &&
           memcmp(item->reading[a] + from, item->reading[b] + from,
                  layout->frame_bytes - from) == 0;
}

remote_addr heap_running(const struct heap_frames *heap)
{
    return field_u64(heap->copy->tstate, heap->copy->layout->tstate_current_frame);
}

bool heap_frames_are_same(const struct heap_frames *heap)
{
    if (!heap->walks || heap->is_broken || heap_running(heap) != heap->running)
        return false;
    for (size_t i = 0; i < heap->frame_count; i++) {
        const struct heap_frame *const item = heap_find(heap, heap->frames[0][i].addr);
        if (!item || !heap_is_equal(heap, item, HEAP_A, HEAP_LAST))
            return false;
    }
    return true;
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
                heap_find(heap, heap->frames[0][heap->frame_count - 1 - i].addr);
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
                   heap->copy->layout->frame_bytes);
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
