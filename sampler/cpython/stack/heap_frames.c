#include "sampler/cpython/stack/heap_frames.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/heap_frames_parts.h"

enum {
    /* Innermost frames of the stack before that are read before all others: they may return soonest. */
    FIRST_IN_STACK = 8,
    /* Up to this many bytes between two frames cost less than another span.  They are mapped, because such frames lie
     * on the same page or on neighbouring ones. */
    MAX_GAP_BYTES = 2048,
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
    free(heap->by_addr);
    free(heap->ranges);
    free(heap->planned);
    for (int i = 0; i < 2; i++) {
        free(heap->bytes[i]);
        free(heap->frames[i]);
    }
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
    heap->range_count = 0;
    const enum err_code rc =
        idmap_add(&heap->index, hash_mix(addr, 0), (uint32_t)heap->count, NULL);
    if (!rc) {
        heap->count++;
        *out = item;
    }
    return rc;
}

/* A copy has the bytes of frames only, not what lies between them. */
static bool reads_ranges(const struct heap_frames *heap)
{
    return heap->range_count && !heap->copy->taken_ns;
}

/* A thread that cannot move needs no B, and a quick check has none. */
static bool reads_again(const struct heap_frames *heap)
{
    return !heap->copy->is_quick && !heap->copy->is_still;
}

size_t heap_frames_plan_count(const struct heap_frames *heap)
{
    const bool has_again = reads_again(heap);
    if (!reads_ranges(heap))
        return 1 + heap->count + (has_again ? heap->count : 0);
    return 1 + (has_again ? heap->first_count + heap->late_count + heap->again_count
                          : heap->range_count);
}

static void plan_frame(struct heap_frames *heap, size_t index, enum heap_reading reading,
                       struct memory_span *spans, size_t *count)
{
    struct heap_frame *const item = &heap->items[index];
    heap->planned[*count] = (struct heap_span){ HEAP_SPAN_FRAME, (uint32_t)index, reading };
    spans[(*count)++] = (struct memory_span){ item->addr, item->reading[reading],
                                              heap->copy->layout->frame_bytes };
}

static void plan_range(struct heap_frames *heap, size_t index, enum heap_reading reading,
                       struct memory_span *spans, size_t *count)
{
    const struct heap_range *const range = &heap->ranges[index];
    heap->planned[*count] = (struct heap_span){ HEAP_SPAN_RANGE, (uint32_t)index, reading };
    spans[(*count)++] =
        (struct memory_span){ range->addr, heap->bytes[reading] + range->offset, range->bytes };
}

/* Does it hold other frames than the innermost ones? */
static bool is_late(const struct heap_range *range)
{
    return range->first_frames < range->count;
}

static struct heap_range *range_of(const struct heap_frames *heap, remote_addr addr)
{
    size_t at = 0;
    LOWER_BOUND(at, heap->range_count, heap->ranges[at].addr + heap->ranges[at].bytes <= addr);
    return &heap->ranges[at];
}

/* The frame at this depth of the last stack, from its innermost one outwards; NULL: it is no longer known. */
static const struct heap_frame *last_frame(const struct heap_frames *heap, size_t from_top)
{
    return heap_find(heap, heap->frames[0][heap->frame_count - 1 - from_top].addr);
}

/* A reads the innermost frames before all others.  B reads those of the last stack that are near its top, and all outside
 * of it: one of these may be called next. */
static void order_ranges(struct heap_frames *heap)
{
    heap->first_count = heap->late_count = heap->again_count = 0;
    for (size_t i = 0; i < heap->range_count; i++)
        heap->ranges[i].first_frames = 0, heap->ranges[i].is_again = false;
    for (size_t i = 0; i < heap->count; i++)
        if (heap->items[i].last_used != heap->readings)
            range_of(heap, heap->items[i].addr)->is_again = true;
    for (size_t i = 0; i < heap->frame_count && i < HEAP_FRAMES_AGAIN; i++) {
        const struct heap_frame *const item = last_frame(heap, i);
        struct heap_range *const range = item ? range_of(heap, item->addr) : NULL;
        if (!range)
            continue;
        range->is_again = true;
        range->first_frames += i < FIRST_IN_STACK;
        heap->first_count += i < FIRST_IN_STACK;
    }
    for (size_t i = 0; i < heap->range_count; i++) {
        heap->late_count += is_late(&heap->ranges[i]);
        heap->again_count += heap->ranges[i].is_again;
    }
}

static size_t plan_ranges(struct heap_frames *heap, bool has_again, struct memory_span *spans,
                          size_t count)
{
    for (size_t i = 0; has_again && i < heap->frame_count && i < FIRST_IN_STACK; i++) {
        const struct heap_frame *const item = last_frame(heap, i);
        if (item)
            plan_frame(heap, (size_t)(item - heap->items), HEAP_A, spans, &count);
    }
    for (size_t i = 0; i < heap->range_count; i++)
        if (!has_again || is_late(&heap->ranges[i]))
            plan_range(heap, i, HEAP_A, spans, &count);
    for (size_t i = 0; has_again && i < heap->range_count; i++)
        if (heap->ranges[i].is_again)
            plan_range(heap, i, HEAP_B, spans, &count);
    return count;
}

static size_t plan_frames(struct heap_frames *heap, bool has_again, struct memory_span *spans,
                          size_t count)
{
    for (size_t i = 0; i < heap->count; i++)
        plan_frame(heap, i, HEAP_A, spans, &count);
    for (size_t i = 0; has_again && i < heap->count; i++)
        plan_frame(heap, i, HEAP_B, spans, &count);
    return count;
}

size_t heap_frames_plan(struct heap_frames *heap, struct memory_span *spans)
{
    struct copy *const copy = heap->copy;
    const bool has_again = reads_again(heap);
    copy->plan_spans = 0;
    if (!VEC_RESERVE(heap->planned, heap->planned_room, heap_frames_plan_count(heap)))
        return 0;
    for (size_t i = 0; i < heap->count; i++)
        memset(heap->items[i].has, 0, HEAP_LAST);
    heap->planned[0] = (struct heap_span){ HEAP_SPAN_TSTATE, 0, HEAP_A };
    spans[0] = (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    copy->plan_spans = reads_ranges(heap) ? plan_ranges(heap, has_again, spans, 1)
                                          : plan_frames(heap, has_again, spans, 1);
    heap->readings++;
    return copy->plan_spans;
}

/* Takes the bytes of a span that arrived completely.  Of a frame that was read by itself, too, these are the older ones. */
static void take_span(struct heap_frames *heap, const struct heap_span *span)
{
    if (span->kind == HEAP_SPAN_FRAME)
        heap->items[span->index].has[span->reading] = true;
    if (span->kind != HEAP_SPAN_RANGE)
        return;
    const struct heap_range *const range = &heap->ranges[span->index];
    const unsigned char *const bytes = heap->bytes[span->reading] + range->offset;
    for (size_t i = 0; i < range->count; i++) {
        const struct heap_place *const place = &heap->by_addr[range->first + i];
        struct heap_frame *const item = &heap->items[place->item];
        if (!item->has[span->reading])
            memcpy(item->reading[span->reading], bytes + (place->addr - range->addr),
                   heap->copy->layout->frame_bytes);
        item->has[span->reading] = true;
    }
}

/* Takes the spans from `from` on that arrived completely; returns the first that did not. */
static size_t take_arrived(struct heap_frames *heap, const struct memory_span *spans,
                           size_t from, size_t count, size_t arrived)
{
    size_t at = from;
    while (at < count && arrived >= spans[at].bytes) {
        arrived -= spans[at].bytes;
        take_span(heap, &heap->planned[at++]);
    }
    return at;
}

static bool is_our_thread(const struct heap_frames *heap)
{
    const struct copy *const copy = heap->copy;
    return !copy->ident ||
           field_u64(copy->tstate, copy->layout->tstate_thread_id) == copy->ident;
}

/* Reads the frames of a range one by one: the memory of one of them has been freed. */
static enum err_code read_apart(struct heap_frames *heap, const struct heap_span *span)
{
    if (span->kind != HEAP_SPAN_RANGE)
        return ERR_OK;
    const struct heap_range *const range = &heap->ranges[span->index];
    for (size_t i = 0; i < range->count && range->count > 1; i++) {
        struct heap_frame *const item = &heap->items[heap->by_addr[range->first + i].item];
        if (item->has[span->reading])
            continue;
        const enum err_code rc =
            memory_read(heap->copy->memory, item->addr, item->reading[span->reading],
                        heap->copy->layout->frame_bytes);
        if (rc && rc != ERR_FAULT)
            return rc;
        item->has[span->reading] = !rc;
    }
    return ERR_OK;
}

/* Another call reads the spans after one that did not arrive. */
static enum err_code read_from(struct heap_frames *heap, const struct memory_span *spans,
                               size_t at, size_t count)
{
    size_t arrived;
    while (at < count) {
        const size_t some = count - at < MEMORY_MAX_SPANS ? count - at : MEMORY_MAX_SPANS;
        enum err_code rc = memory_readv(heap->copy->memory, spans + at, some, &arrived);
        if (rc && rc != ERR_FAULT)
            return rc;
        const size_t past = take_arrived(heap, spans, at, at + some, arrived);
        if (past == 0)
            return ERR_GONE;
        rc = past < at + some ? read_apart(heap, &heap->planned[past]) : ERR_OK;
        if (rc)
            return rc;
        at = past + (past < at + some);
    }
    return is_our_thread(heap) ? ERR_OK : ERR_GONE;
}

enum err_code heap_frames_settle(struct heap_frames *heap, const struct memory_span *spans,
                                 size_t count, size_t arrived)
{
    const size_t past = take_arrived(heap, spans, 0, count, arrived);
    if (past == 0)
        return ERR_GONE;
    const enum err_code rc = past < count ? read_apart(heap, &heap->planned[past]) : ERR_OK;
    return rc ? rc : read_from(heap, spans, past + (past < count), count);
}

enum err_code heap_frames_read(struct heap_frames *heap)
{
    const size_t most = heap_frames_plan_count(heap);
    struct memory_span *const spans = malloc(most * sizeof *spans);
    if (!spans)
        return ERR_NOMEM;
    const size_t count = heap_frames_plan(heap, spans);
    const enum err_code rc = count ? read_from(heap, spans, 0, count) : ERR_NOMEM;
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

static int compare_places(const void *a, const void *b)
{
    const struct heap_place *const left = a, *const right = b;
    return (left->addr > right->addr) - (left->addr < right->addr);
}

/* Finds the frames that lie close together.  Without memory for that, each is read by itself. */
static void find_ranges(struct heap_frames *heap)
{
    const size_t frame_bytes = heap->copy->layout->frame_bytes;
    size_t bytes = 0, count = 0;
    if (!heap->count || !VEC_RESERVE(heap->by_addr, heap->place_room, heap->count) ||
        !VEC_RESERVE(heap->ranges, heap->range_room, heap->count))
        return;
    for (size_t i = 0; i < heap->count; i++)
        heap->by_addr[i] = (struct heap_place){ heap->items[i].addr, (uint32_t)i };
    qsort(heap->by_addr, heap->count, sizeof *heap->by_addr, compare_places);
    for (size_t i = 0; i < heap->count; i++) {
        const remote_addr addr = heap->by_addr[i].addr;
        struct heap_range *const last = count ? &heap->ranges[count - 1] : NULL;
        if (!last || addr - last->addr > last->bytes + MAX_GAP_BYTES)
            heap->ranges[count++] = (struct heap_range){ .addr = addr, .first = i };
        struct heap_range *const range = &heap->ranges[count - 1];
        range->count++;
        range->bytes = (size_t)(addr - range->addr) + frame_bytes;
    }
    for (size_t i = 0; i < count; i++) {
        heap->ranges[i].offset = bytes;
        bytes += heap->ranges[i].bytes;
    }
    if (VEC_RESERVE(heap->bytes[HEAP_A], heap->bytes_room[HEAP_A], bytes) &&
        VEC_RESERVE(heap->bytes[HEAP_B], heap->bytes_room[HEAP_B], bytes))
        heap->range_count = count;
}

/* Drops the frames that have not been part of the stack for long. */
static void drop_idle(struct heap_frames *heap)
{
    size_t kept = 0;
    for (size_t i = 0; i < heap->count; i++) {
        if (heap->readings - heap->items[i].last_used >= HEAP_FRAMES_IDLE_READINGS)
            continue;
        if (kept != i)
            heap->items[kept] = heap->items[i];
        kept++;
    }
    if (kept == heap->count)
        return;
    heap->count = kept;
    heap->range_count = 0;
    idmap_clear(&heap->index);
    for (size_t i = 0; i < heap->count; i++)
        if (idmap_add(&heap->index, hash_mix(heap->items[i].addr, 0), (uint32_t)i, NULL)) {
            /* The frames that do not fit are read again. */
            heap->count = i;
            break;
        }
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
    if (heap->readings % HEAP_FRAMES_IDLE_READINGS == 0)
        drop_idle(heap);
    if (!heap->range_count)
        find_ranges(heap);
    if (heap->range_count)
        order_ranges(heap);
}
