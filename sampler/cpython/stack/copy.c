#include "sampler/cpython/stack/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

enum {
    AGAIN_BYTES = 8192,  /* below the top of the stack, read as B too */
    TRIM_READINGS = 256, /* a chunk is copied as far as this many readings used it */
};

static size_t max_field_end(const struct layout *layout)
{
    uint32_t end = 0;
    const uint32_t fields[] = {
        layout->tstate_next,
        layout->tstate_interp,
        layout->tstate_current_frame,
        layout->tstate_cframe,
        layout->tstate_base_frame,
        layout->tstate_thread_id,
        layout->tstate_native_thread_id,
        layout->tstate_datastack_top,
        layout->tstate_gil_requested,
        layout->tstate_current_exception,
        layout->tstate_exc_state,
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        end = fields[i] > end ? fields[i] : end;
    /* The last field may be narrower than a word. */
    const size_t bytes = end + sizeof(uint64_t);
    return bytes < layout->tstate_bytes ? bytes : layout->tstate_bytes;
}

void copy_init(struct copy *copy, struct memory *memory, const struct layout *layout,
               remote_addr tstate_addr, remote_addr generation_addr)
{
    memset(copy, 0, sizeof *copy);
    copy->memory = memory;
    copy->layout = layout;
    copy->tstate_addr = tstate_addr;
    copy->generation_addr = generation_addr;
    copy->tstate_bytes = max_field_end(layout);
}

void copy_deinit(struct copy *copy)
{
    for (size_t i = 0; i < copy->chunk_room; i++) {
        for (int r = 0; r < COPY_READINGS; r++)
            free(copy->chunks[i].reading[r]);
    }
    free(copy->chunks);
    free(copy->off_chunk);
    free(copy->spans);
    idmap_deinit(&copy->off_chunk_index);
    memset(copy, 0, sizeof *copy);
}

static struct memory_span chunk_span(const struct copy_chunk *chunk)
{
    return (struct memory_span){ chunk->addr, chunk->reading[COPY_A], chunk->bytes };
}

/* The newest chunks come first: their frames change soonest after the thread state is read. */
static size_t plan_chunks(const struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    for (size_t i = copy->chunk_count; i-- > 0;)
        if (copy->chunks[i].bytes)
            spans[count++] = chunk_span(&copy->chunks[i]);
    return count;
}

static struct memory_span off_chunk_span(const struct copy *copy,
                                         struct copy_off_chunk *off_chunk,
                                         enum copy_reading reading)
{
    return (struct memory_span){ off_chunk->addr, off_chunk->reading[reading],
                                 copy->layout->frame_bytes };
}

/* A quick check needs no entry frames: the frames in the chunks around them show every change. */
static bool is_wanted(const struct copy_off_chunk *off_chunk, bool is_quick)
{
    return !is_quick || !off_chunk->is_entry || !off_chunk->has_last;
}

static size_t plan_first(struct copy *copy, bool is_quick, struct memory_span *spans)
{
    size_t count = 0;
    spans[count++] =
        (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    for (size_t i = 0; i < copy->cframe_count; i++)
        spans[count++] = (struct memory_span){ copy->cframes[i].addr, copy->cframes[i].bytes,
                                               copy->layout->cframe_bytes };
    count += plan_chunks(copy, spans + count);
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        if (is_wanted(&copy->off_chunk[i], is_quick))
            spans[count++] = off_chunk_span(copy, &copy->off_chunk[i], COPY_A);
    return count;
}

/* A generator's frame that was just part of the stack is likely to be part of it again. */
static bool is_in_use(const struct copy *copy, const struct copy_off_chunk *off_chunk)
{
    return !off_chunk->is_entry && copy->readings - off_chunk->last_used <= 2;
}

static size_t plan_again(struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    if (copy->chunk_count && copy->chunks[copy->chunk_count - 1].bytes) {
        const struct copy_chunk *const chunk = &copy->chunks[copy->chunk_count - 1];
        spans[count++] = (struct memory_span){ chunk->addr + chunk->again_from,
                                               chunk->reading[COPY_B] + chunk->again_from,
                                               chunk->bytes - chunk->again_from };
    }
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        if (is_in_use(copy, &copy->off_chunk[i]))
            spans[count++] = off_chunk_span(copy, &copy->off_chunk[i], COPY_B);
    return count;
}

size_t copy_plan_count(const struct copy *copy, bool is_quick)
{
    size_t count = 1 + copy->cframe_count + copy->chunk_count + copy->off_chunk_count;
    if (is_quick)
        return count;
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        count += is_in_use(copy, &copy->off_chunk[i]);
    return count + (copy->chunk_count != 0);
}

/* A becomes LAST; the old LAST will be overwritten. */
static void turn_over(struct copy *copy)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        unsigned char *const last = chunk->reading[COPY_LAST];
        chunk->reading[COPY_LAST] = chunk->reading[COPY_A];
        chunk->reading[COPY_A] = last;
        chunk->last_bytes = chunk->bytes;
    }
    for (size_t i = 0; i < copy->off_chunk_count; i++) {
        memcpy(copy->off_chunk[i].reading[COPY_LAST], copy->off_chunk[i].reading[COPY_A],
               copy->layout->frame_bytes);
        copy->off_chunk[i].has_last = true;
    }
    copy->is_accepted = false;
}

/* Where B begins in the newest chunk: AGAIN_BYTES below its last top. */
static size_t again_from(const struct copy *copy, const struct copy_chunk *newest)
{
    const remote_addr top = copy_stack_top(copy);
    const uint64_t used = copy_chunk_holds(newest, top) ? top - newest->addr : 0;
    const size_t from = used > AGAIN_BYTES ? (size_t)(used - AGAIN_BYTES) : 0;
    return from < newest->bytes ? from / sizeof(uint64_t) * sizeof(uint64_t) : newest->bytes;
}

/* The bytes up to the last top; if the top is elsewhere, all bytes to copy. */
static size_t used_bytes(const struct copy *copy, const struct copy_chunk *newest)
{
    const remote_addr top = copy_stack_top(copy);
    return copy_chunk_holds(newest, top) && top - newest->addr < newest->next_bytes
               ? (size_t)(top - newest->addr)
               : newest->next_bytes;
}

static void set_extents(struct copy *copy, bool is_quick)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        chunk->again_from = chunk->bytes = chunk->next_bytes;
    }
    if (copy->chunk_count) {
        struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
        if (is_quick)
            newest->again_from = newest->bytes = used_bytes(copy, newest);
        else
            newest->again_from = again_from(copy, newest);
    }
    for (size_t i = copy->chunk_count; i < copy->chunk_known; i++) {
        struct copy_chunk *const above = &copy->chunks[i];
        above->bytes = above->again_from = above->last_bytes = 0;
    }
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        copy->off_chunk[i].has_again = !is_quick && is_in_use(copy, &copy->off_chunk[i]);
}

static void trim(struct copy_chunk *newest)
{
    const size_t need = newest->most + COPY_SLACK_BYTES;
    if (need < newest->next_bytes)
        newest->next_bytes = need;
    newest->most = 0;
}

size_t copy_plan(struct copy *copy, bool is_quick, struct memory_span *spans)
{
    if (copy->is_accepted)
        turn_over(copy);
    if (copy->chunk_count && copy->readings % TRIM_READINGS == TRIM_READINGS - 1)
        trim(&copy->chunks[copy->chunk_count - 1]);
    set_extents(copy, is_quick);
    copy->first_spans = plan_first(copy, is_quick, spans);
    copy->plan_spans = copy->first_spans;
    copy->has_again = !is_quick && !copy->is_still;
    if (copy->has_again)
        copy->plan_spans += plan_again(copy, spans + copy->first_spans);
    copy->predictions = 0;
    copy->readings++;
    return copy->plan_spans;
}

static void drop_cframe(struct copy *copy, size_t at)
{
    copy->cframe_count--;
    memmove(copy->cframes + at, copy->cframes + at + 1,
            (copy->cframe_count - at) * sizeof *copy->cframes);
}

/* Handles a predicted span that could not be read: its memory is gone. */
static enum err_code lose(struct copy *copy, remote_addr addr, bool is_again)
{
    if (addr == copy->tstate_addr)
        return ERR_GONE;
    if (is_again) {
        copy->has_again = false;
        return ERR_OK;
    }
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr) {
            copy->cframes[i].is_lost = true;
            return ERR_OK;
        }
    struct copy_off_chunk *const off_chunk = copy_find_off_chunk(copy, addr);
    if (off_chunk)
        off_chunk->is_lost = true;
    for (size_t i = 0; i < copy->chunk_count && !off_chunk; i++)
        if (copy->chunks[i].addr == addr)
            copy->chunks[i].bytes = copy->chunks[i].again_from = 0;
    return ERR_OK;
}

static void drop_lost(struct copy *copy)
{
    for (size_t i = copy->cframe_count; i-- > 0;)
        if (copy->cframes[i].is_lost)
            drop_cframe(copy, i);
    bool dropped = false;
    for (size_t i = copy->off_chunk_count; i-- > 0;)
        if (copy->off_chunk[i].is_lost) {
            copy->off_chunk[i] = copy->off_chunk[--copy->off_chunk_count];
            dropped = true;
        }
    if (dropped)
        copy_index_off_chunk(copy);
}

/* The number of spans that arrived completely. */
static size_t whole_spans(const struct memory_span *spans, size_t count, size_t arrived)
{
    size_t i = 0;
    while (i < count && arrived >= spans[i].bytes)
        arrived -= spans[i++].bytes;
    return i;
}

static struct copy_chunk *chunk_at(const struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->chunk_count; i++)
        if (copy->chunks[i].addr == addr)
            return &copy->chunks[i];
    return NULL;
}

/* The thread state names the newest chunk, so chunks above it are gone too.  Returns the index of the
 * first span after them. */
static size_t skip_gone_chunks(const struct copy *copy, const struct memory_span *spans,
                               size_t at)
{
    const struct copy_chunk *const newest =
        chunk_at(copy, field_u64(copy->tstate, copy->layout->tstate_datastack_chunk));
    for (; newest && at < copy->first_spans; at++) {
        struct copy_chunk *const chunk = chunk_at(copy, spans[at].addr);
        if (!chunk || chunk <= newest)
            break;
        chunk->bytes = chunk->again_from = 0;
    }
    return at;
}

/* Another call reads the spans after one that could not be read. */
enum err_code copy_settle(struct copy *copy, const struct memory_span *spans, size_t count,
                          size_t arrived)
{
    size_t at = whole_spans(spans, count, arrived);
    enum err_code rc = ERR_OK;
    bool lost = false;
    while (at < count && !rc) {
        rc = lose(copy, spans[at].addr, at >= copy->first_spans);
        lost = true;
        at = skip_gone_chunks(copy, spans, at + 1);
        if (at >= count || rc)
            break;
        const size_t left = count - at;
        const size_t n = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        rc = memory_readv(copy->memory, spans + at, n, &arrived);
        rc = rc == ERR_FAULT ? ERR_OK : rc;
        at += whole_spans(spans + at, n, arrived);
    }
    if (!lost)
        return rc;
    drop_lost(copy);
    /* The generation must be read after the frames, so it is read again. */
    if (!rc && copy->generation_addr)
        rc = memory_read_u64(copy->memory, copy->generation_addr, &copy->generation);
    return rc;
}

static enum err_code reserve_spans(struct copy *copy, size_t need)
{
    return VEC_RESERVE(copy->spans, copy->span_room, need) ? ERR_OK : ERR_NOMEM;
}

/* Makes several calls only for a stack with more spans than one call takes. */
static enum err_code read_all(struct copy *copy, size_t count, size_t *arrived_out)
{
    enum err_code rc = ERR_OK;
    *arrived_out = 0;
    for (size_t at = 0; at < count && !rc; at += MEMORY_MAX_SPANS) {
        const size_t left = count - at;
        const size_t n = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        size_t arrived;
        rc = memory_readv(copy->memory, copy->spans + at, n, &arrived);
        *arrived_out += arrived;
    }
    return rc;
}

static size_t bytes_of(const struct memory_span *spans, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += spans[i].bytes;
    return bytes;
}

enum err_code copy_read(struct copy *copy)
{
    const size_t room = copy_plan_count(copy, false) + 1 + COPY_MAX_PREDICTIONS;
    enum err_code rc = reserve_spans(copy, room);
    size_t arrived;
    if (rc)
        return rc;
    size_t count = copy_plan(copy, false, copy->spans);
    if (copy->generation_addr)
        copy->spans[count++] = (struct memory_span){ copy->generation_addr, &copy->generation,
                                                     sizeof copy->generation };
    const size_t bytes = bytes_of(copy->spans, count);
    rc = read_all(copy, count + copy_plan_predictions(copy, copy->spans + count), &arrived);
    if (rc && rc != ERR_FAULT)
        return rc;
    copy_settle_predictions(copy, arrived > bytes ? arrived - bytes : 0);
    return copy_settle(copy, copy->spans, count, arrived);
}

void copy_accept(struct copy *copy)
{
    copy->is_accepted = true;
}

void copy_forget(struct copy *copy)
{
    copy->is_accepted = false;
    for (size_t i = 0; i < copy->chunk_count; i++)
        copy->chunks[i].last_bytes = 0;
    for (size_t i = 0; i < copy->off_chunk_count; i++)
        copy->off_chunk[i].has_last = false;
}

/* The first byte at which two readings differ; `bytes`: they are equal. */
static size_t first_difference(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    enum { BLOCK_BYTES = 512 };
    size_t at = 0;
    while (bytes - at >= BLOCK_BYTES && memcmp(a + at, b + at, BLOCK_BYTES) == 0)
        at += BLOCK_BYTES;
    while (bytes - at >= sizeof(uint64_t) &&
           field_u64(a, (uint32_t)at) == field_u64(b, (uint32_t)at))
        at += sizeof(uint64_t);
    while (at < bytes && a[at] == b[at])
        at++;
    return at;
}

/* Ignores the word in the header that counts used words: it does not concern frames. */
static size_t chunk_difference(const struct copy_chunk *chunk, size_t bytes)
{
    const unsigned char *const a = chunk->reading[COPY_A], *const last =
                                                               chunk->reading[COPY_LAST];
    if (bytes < COPY_CHUNK_HEADER_BYTES || memcmp(a, last, COPY_CHUNK_USED_AT) != 0)
        return 0;
    return COPY_CHUNK_HEADER_BYTES + first_difference(a + COPY_CHUNK_HEADER_BYTES,
                                                      last + COPY_CHUNK_HEADER_BYTES,
                                                      bytes - COPY_CHUNK_HEADER_BYTES);
}

static uint64_t place_of(size_t chunk, size_t offset)
{
    return (uint64_t)chunk << 32 | offset;
}

uint64_t copy_changed_from(const struct copy *copy)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        const struct copy_chunk *const chunk = &copy->chunks[i];
        const size_t bytes =
            chunk->bytes < chunk->last_bytes ? chunk->bytes : chunk->last_bytes;
        const size_t same = chunk_difference(chunk, bytes);
        if (same < chunk->bytes)
            return place_of(i, same);
    }
    return COPY_NOWHERE;
}

remote_addr copy_stack_top(const struct copy *copy)
{
    return field_u64(copy->tstate, copy->layout->tstate_datastack_top);
}

static struct copy_cframe *find_cframe(struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr)
            return &copy->cframes[i];
    return NULL;
}

/* Moves the structure at addr to the front; it replaces the least recently used if the array is full. */
static void put_first(struct copy *copy, remote_addr addr)
{
    const struct copy_cframe *const known = find_cframe(copy, addr);
    struct copy_cframe first = { .addr = addr };
    if (known)
        first = *known;
    else if (copy->cframe_count < COPY_MAX_CFRAMES)
        copy->cframe_count++;
    const size_t before = known ? (size_t)(known - copy->cframes) : copy->cframe_count - 1;
    memmove(copy->cframes + 1, copy->cframes, before * sizeof *copy->cframes);
    copy->cframes[0] = first;
}

bool copy_running(struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame) {
        *out = field_u64(copy->tstate, layout->tstate_current_frame);
        return true;
    }
    const remote_addr addr = field_u64(copy->tstate, layout->tstate_cframe);
    const bool is_known = find_cframe(copy, addr) != NULL;
    put_first(copy, addr);
    *out = is_known ? field_u64(copy->cframes[0].bytes, layout->cframe_current_frame) : 0;
    return is_known;
}

bool copy_running_before(const struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame || !copy->cframe_count)
        return false;
    const remote_addr before = field_u64(copy->cframes[0].bytes, layout->cframe_previous);
    return before && !memory_read_u64(copy->memory, before + layout->cframe_current_frame, out);
}

/* Callers mostly ask for frames in the order of the stack, so the next one is near the last. */
uint64_t copy_place_near(const struct copy *copy, remote_addr addr, uint64_t near)
{
    const size_t count = copy->chunk_count;
    const size_t from = near >> 32 < count ? (size_t)(near >> 32) + 1 : count;
    for (size_t i = from; i-- > 0;)
        if (copy_chunk_holds(&copy->chunks[i], addr))
            return place_of(i, (size_t)(addr - copy->chunks[i].addr));
    for (size_t i = from; i < count; i++)
        if (copy_chunk_holds(&copy->chunks[i], addr))
            return place_of(i, (size_t)(addr - copy->chunks[i].addr));
    return COPY_NOWHERE;
}

uint64_t copy_place(const struct copy *copy, remote_addr addr)
{
    return copy_place_near(copy, addr, COPY_NOWHERE);
}

const unsigned char *copy_at(const struct copy *copy, enum copy_reading reading, uint64_t place,
                             size_t bytes)
{
    if (place >> 32 >= copy->chunk_count)
        return NULL;
    const struct copy_chunk *const chunk = &copy->chunks[place >> 32];
    const size_t offset = (size_t)(place & UINT32_MAX);
    const size_t end = reading == COPY_LAST ? chunk->last_bytes : chunk->bytes;
    if (offset > end || end - offset < bytes)
        return NULL;
    if (reading == COPY_B && (!copy->has_again || offset < chunk->again_from))
        return NULL;
    return chunk->reading[reading] + offset;
}

const unsigned char *copy_in_chunk(const struct copy *copy, enum copy_reading reading,
                                   remote_addr addr, size_t bytes)
{
    return copy_at(copy, reading, copy_place(copy, addr), bytes);
}
