#include "sampler/cpython/stack/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

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
        layout->tstate_context,
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

/* From the byte `from` on.  Ignores the word in the header that counts used words: it does not concern
 * frames. */
static size_t chunk_difference(const struct copy_chunk *chunk, size_t from, size_t bytes)
{
    const unsigned char *const a = chunk->reading[COPY_A], *const last =
                                                               chunk->reading[COPY_LAST];
    if (from < COPY_CHUNK_HEADER_BYTES) {
        if (bytes < COPY_CHUNK_HEADER_BYTES || memcmp(a, last, COPY_CHUNK_USED_AT) != 0)
            return 0;
        from = COPY_CHUNK_HEADER_BYTES;
    }
    return from < bytes ? from + first_difference(a + from, last + from, bytes - from) : from;
}

static uint64_t place_of(size_t chunk, size_t offset)
{
    return (uint64_t)chunk << 32 | offset;
}

/* The first bytes of A and LAST that are of the same tail. */
static size_t common_bytes(const struct copy_chunk *chunk)
{
    const struct copy_known *const a = &chunk->known, *const last = &chunk->last_known;
    if (!a->mark || a->mark != last->mark)
        return 0;
    return a->bytes < last->bytes ? a->bytes : last->bytes;
}

uint64_t copy_changed_from(const struct copy *copy, uint64_t from)
{
    size_t at = (size_t)(from & UINT32_MAX);
    for (size_t i = (size_t)(from >> 32); i < copy->chunk_count; i++, at = 0) {
        const struct copy_chunk *const chunk = &copy->chunks[i];
        const size_t end = chunk->bytes, common = common_bytes(chunk);
        const size_t same = chunk_difference(chunk, at > common ? at : common,
                                             end < chunk->last_bytes ? end : chunk->last_bytes);
        if (same < end)
            return place_of(i, same);
    }
    return COPY_NOWHERE;
}

remote_addr copy_stack_top(const struct copy *copy)
{
    return field_u64(copy->tstate, copy->layout->tstate_datastack_top);
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
    return chunk->reading[reading] + offset;
}

const unsigned char *copy_in_chunk(const struct copy *copy, enum copy_reading reading,
                                   remote_addr addr, size_t bytes)
{
    return copy_at(copy, reading, copy_place(copy, addr), bytes);
}

void copy_drop_cframe(struct copy *copy, size_t at)
{
    copy->cframe_count--;
    memmove(copy->cframes + at, copy->cframes + at + 1,
            (copy->cframe_count - at) * sizeof *copy->cframes);
}

static struct copy_cframe *find_cframe(struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr)
            return &copy->cframes[i];
    return NULL;
}

bool copy_running(struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame) {
        *out = field_u64(copy->tstate, layout->tstate_current_frame);
        return true;
    }
    const remote_addr addr = field_u64(copy->tstate, layout->tstate_cframe);

    /* The structure moves to the front; it replaces the least recently used one if the array is full. */
    const struct copy_cframe *const known = find_cframe(copy, addr);
    const bool is_known = known != NULL;
    struct copy_cframe first = { .addr = addr };
    if (known)
        first = *known;
    else if (copy->cframe_count < COPY_MAX_CFRAMES)
        copy->cframe_count++;
    const size_t before = known ? (size_t)(known - copy->cframes) : copy->cframe_count - 1;
    memmove(copy->cframes + 1, copy->cframes, before * sizeof *copy->cframes);
    copy->cframes[0] = first;

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
