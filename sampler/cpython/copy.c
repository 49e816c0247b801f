#include "sampler/cpython/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/object.h"

enum {
    SLACK_BYTES = 512, /* above the top of the stack, for what is pushed next */
    PAGE_BYTES = 4096,
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
    /* The last one may be narrower than a word. */
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
    free(copy->loose);
    free(copy->spans);
    idmap_deinit(&copy->loose_index);
    memset(copy, 0, sizeof *copy);
}

static uint32_t hash_of(remote_addr addr)
{
    return idmap_mix(addr, 0);
}

static struct copy_loose *find_loose(const struct copy *copy, remote_addr addr)
{
    const uint32_t hash = hash_of(addr);
    uint32_t at;
    for (uint32_t slot = idmap_first(&copy->loose_index, hash);
         (at = idmap_id(&copy->loose_index, slot)) != IDMAP_NONE;
         slot = idmap_next(&copy->loose_index, slot))
        if (copy->loose[at].addr == addr)
            return &copy->loose[at];
    return NULL;
}

/* The index has room for what it held before, so that this cannot fail. */
static void index_loose(struct copy *copy)
{
    copy->has_last = false;
    idmap_clear(&copy->loose_index);
    for (uint32_t i = 0; i < copy->loose_count; i++)
        (void)!idmap_add(&copy->loose_index, hash_of(copy->loose[i].addr), i, NULL);
}

static size_t add_reading(struct copy *copy, enum copy_reading reading,
                          struct memory_span *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < copy->chunk_count; i++)
        spans[count++] =
            (struct memory_span){ copy->chunks[i].addr, copy->chunks[i].reading[reading],
                                  copy->chunks[i].bytes };
    for (size_t i = 0; i < copy->loose_count; i++)
        spans[count++] =
            (struct memory_span){ copy->loose[i].addr, copy->loose[i].reading[reading],
                                  copy->layout->frame_bytes };
    return count;
}

static size_t add_thread_state(struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    spans[count++] =
        (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    if (copy->cframe_addr)
        spans[count++] =
            (struct memory_span){ copy->cframe_addr, copy->cframe, copy->layout->cframe_bytes };
    return count;
}

/* Drops the prediction that could not be read: one loose frame, or all chunks, or the cframe.
 * The thread state itself is no prediction: if it is unmapped the thread is gone. */
static enum err_code drop_prediction(struct copy *copy, remote_addr addr)
{
    if (addr == copy->tstate_addr ||
        addr == copy->tstate_addr + copy->layout->tstate_gil_requested)
        return ERR_GONE;
    if (addr == copy->cframe_addr) {
        copy->cframe_addr = 0;
        return ERR_FAULT;
    }
    struct copy_loose *const loose = find_loose(copy, addr);
    if (loose) {
        *loose = copy->loose[--copy->loose_count];
        index_loose(copy);
        return ERR_FAULT;
    }
    copy->chunk_count = 0;
    copy->has_last = false;
    return ERR_FAULT;
}

size_t copy_plan_count(const struct copy *copy)
{
    return 2 * (copy->chunk_count + copy->loose_count) + 1 + (copy->cframe_addr != 0) +
           (copy->generation_addr != 0);
}

void copy_plan(struct copy *copy, struct memory_span *spans)
{
    size_t count = add_reading(copy, COPY_A, spans);
    count += add_thread_state(copy, spans + count);
    count += add_reading(copy, COPY_B, spans + count);
    if (copy->generation_addr)
        spans[count] = (struct memory_span){ copy->generation_addr, &copy->generation,
                                             sizeof copy->generation };
    copy->readings++;
}

enum err_code copy_settle(struct copy *copy, const struct memory_span *spans, size_t count,
                          size_t arrived)
{
    for (size_t i = 0; i < count; i++) {
        if (arrived < spans[i].bytes)
            return drop_prediction(copy, spans[i].addr);
        arrived -= spans[i].bytes;
    }
    return ERR_OK;
}

static enum err_code reserve_spans(struct copy *copy, size_t need)
{
    if (need <= copy->span_room)
        return ERR_OK;
    struct memory_span *const more = realloc(copy->spans, need * 2 * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    copy->spans = more;
    copy->span_room = need * 2;
    return ERR_OK;
}

enum err_code copy_read(struct copy *copy)
{
    const size_t count = copy_plan_count(copy);
    enum err_code rc = reserve_spans(copy, count);
    if (rc)
        return rc;
    copy_plan(copy, copy->spans);
    for (size_t at = 0; at < count && !rc; at += MEMORY_MAX_SPANS) {
        const size_t left = count - at;
        const size_t n = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        size_t arrived;
        rc = memory_readv(copy->memory, copy->spans + at, n, &arrived);
        if (rc == ERR_FAULT)
            rc = copy_settle(copy, copy->spans + at, n, arrived);
    }
    return rc;
}

/* The same frames of B or LAST as of A, byte for byte? */
static bool readings_equal(const struct copy *copy, enum copy_reading other)
{
    for (size_t i = 0; i < copy->chunk_count; i++)
        if (memcmp(copy->chunks[i].reading[COPY_A], copy->chunks[i].reading[other],
                   copy->chunks[i].bytes) != 0)
            return false;
    for (size_t i = 0; i < copy->loose_count; i++)
        if (memcmp(copy->loose[i].reading[COPY_A], copy->loose[i].reading[other],
                   copy->layout->frame_bytes) != 0)
            return false;
    return true;
}

/* Before 3.14 a frame that has returned looks as it did; only the top of the stack tells. */
static bool needs_top(const struct copy *copy)
{
    return LAYOUT_MINOR(copy->layout->version) < 14;
}

static bool top_stands(const struct copy *copy)
{
    return !needs_top(copy) || copy_stack_top(copy) == copy->last_top;
}

size_t copy_glance_count(const struct copy *copy)
{
    return copy->chunk_count + copy->loose_count + (copy->layout->tstate_gil_requested != 0) +
           needs_top(copy);
}

void copy_plan_glance(struct copy *copy, struct memory_span *spans)
{
    const uint32_t waits = copy->layout->tstate_gil_requested;
    const uint32_t top = copy->layout->tstate_datastack_top;
    size_t count = add_reading(copy, COPY_A, spans);
    if (waits)
        spans[count++] = (struct memory_span){ copy->tstate_addr + waits, copy->tstate + waits,
                                               sizeof(uint32_t) };
    if (needs_top(copy))
        spans[count] = (struct memory_span){ copy->tstate_addr + top, copy->tstate + top,
                                             sizeof(uint64_t) };
    copy->readings++;
}

bool copy_glance_is_same(const struct copy *copy)
{
    return copy->has_last && top_stands(copy) && readings_equal(copy, COPY_LAST);
}

bool copy_is_unchanged(const struct copy *copy)
{
    return copy->has_last && top_stands(copy) && readings_equal(copy, COPY_LAST) &&
           readings_equal(copy, COPY_B);
}

void copy_keep(struct copy *copy)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        unsigned char *const last = chunk->reading[COPY_LAST];
        chunk->reading[COPY_LAST] = chunk->reading[COPY_A];
        chunk->reading[COPY_A] = last;
    }
    for (size_t i = 0; i < copy->loose_count; i++)
        memcpy(copy->loose[i].reading[COPY_LAST], copy->loose[i].reading[COPY_A],
               copy->layout->frame_bytes);
    copy->last_top = copy_stack_top(copy);
    copy->has_last = true;
}

static enum err_code reserve_chunk(struct copy_chunk *chunk, size_t bytes)
{
    if (chunk->room >= bytes)
        return ERR_OK;
    const size_t room = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    for (int i = 0; i < COPY_READINGS; i++) {
        unsigned char *const more = realloc(chunk->reading[i], room);
        if (!more)
            return ERR_NOMEM;
        chunk->reading[i] = more;
    }
    chunk->room = room;
    return ERR_OK;
}

static enum err_code reserve_chunks(struct copy *copy, size_t count)
{
    if (count <= copy->chunk_room)
        return ERR_OK;
    const size_t room = count < 4 ? 4 : count * 2;
    struct copy_chunk *const more = realloc(copy->chunks, room * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    memset(more + copy->chunk_room, 0, (room - copy->chunk_room) * sizeof *more);
    copy->chunks = more;
    copy->chunk_room = room;
    return ERR_OK;
}

/* Chunks are found newest first and kept oldest first. */
static void reverse(struct copy_chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        const struct copy_chunk chunk = chunks[i];
        chunks[i] = chunks[count - 1 - i];
        chunks[count - 1 - i] = chunk;
    }
}

static enum err_code find_chunks(struct copy *copy, remote_addr newest)
{
    remote_addr addr = newest, mark = 0;
    size_t count = 0, held = 0;
    copy->chunk_count = 0;
    copy->has_last = false;
    while (addr) {
        uint64_t header[3];
        if (count == COPY_MAX_CHUNKS)
            return ERR_LIMIT;
        /* A list that comes back to a chunk seen at a power of two is a circle. */
        if (addr == mark)
            return ERR_CORRUPT;
        if ((count & (count - 1)) == 0)
            mark = addr;
        enum err_code rc = memory_read(copy->memory, addr, header, sizeof header);
        if (!rc)
            rc = reserve_chunks(copy, count + 1);
        if (!rc && (header[1] < COPY_CHUNK_HEADER_BYTES || header[1] > COPY_MAX_CHUNK_BYTES ||
                    header[2] > header[1] / sizeof(uint64_t)))
            rc = ERR_CORRUPT;
        if (rc)
            return rc;
        struct copy_chunk *const chunk = &copy->chunks[count++];
        chunk->addr = addr;
        chunk->size = header[1];
        chunk->bytes = COPY_CHUNK_HEADER_BYTES + header[2] * sizeof(uint64_t);
        if (chunk->bytes > chunk->size)
            chunk->bytes = chunk->size;
        held += chunk->bytes;
        rc = held > COPY_MAX_BYTES ? ERR_LIMIT : reserve_chunk(chunk, chunk->bytes);
        if (rc)
            return rc;
        addr = header[0];
    }
    reverse(copy->chunks, count);
    copy->chunk_count = count;
    return ERR_OK;
}

/* Copies the newest chunk up to `top` and a little more. */
static enum err_code cover(struct copy *copy, remote_addr top)
{
    struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
    uint64_t bytes = top - newest->addr + SLACK_BYTES;
    if (bytes > newest->size)
        bytes = newest->size;
    newest->bytes = (size_t)bytes;
    copy->has_last = false;
    return reserve_chunk(newest, newest->bytes);
}

static bool holds(const struct copy_chunk *chunk, remote_addr addr)
{
    return addr >= chunk->addr + COPY_CHUNK_HEADER_BYTES && addr <= chunk->addr + chunk->size;
}

/* Was all that is used of a chunk below the newest copied?  It may have been the newest itself in
 * between and hold more now. */
static bool is_covered(const struct copy_chunk *chunk, enum copy_reading reading)
{
    enum { USED_WORDS = 16 };
    return field_u64(chunk->reading[reading], USED_WORDS) <=
           (chunk->bytes - COPY_CHUNK_HEADER_BYTES) / sizeof(uint64_t);
}

/* The headers copied in both readings must still form the chain that was predicted. */
static bool chain_holds(const struct copy *copy, remote_addr newest)
{
    remote_addr before = 0;
    for (size_t i = 0; i < copy->chunk_count; i++) {
        const struct copy_chunk *const chunk = &copy->chunks[i];
        if (chunk->bytes < COPY_CHUNK_HEADER_BYTES ||
            field_u64(chunk->reading[COPY_A], 0) != before ||
            field_u64(chunk->reading[COPY_B], 0) != before)
            return false;
        if (i + 1 < copy->chunk_count &&
            (!is_covered(chunk, COPY_A) || !is_covered(chunk, COPY_B)))
            return false;
        before = chunk->addr;
    }
    return before == newest;
}

remote_addr copy_stack_top(const struct copy *copy)
{
    return field_u64(copy->tstate, copy->layout->tstate_datastack_top);
}

enum err_code copy_fits(struct copy *copy, bool *fits_out)
{
    const remote_addr newest = field_u64(copy->tstate, copy->layout->tstate_datastack_chunk);
    const remote_addr top = copy_stack_top(copy);
    const struct copy_chunk *const last =
        copy->chunk_count ? &copy->chunks[copy->chunk_count - 1] : NULL;
    if (copy->ident && field_u64(copy->tstate, copy->layout->tstate_thread_id) != copy->ident)
        return ERR_GONE;
    *fits_out = chain_holds(copy, newest);
    if (*fits_out && (!last || (holds(last, top) && top <= last->addr + last->bytes)))
        return ERR_OK;
    if (*fits_out && last && holds(last, top)) {
        *fits_out = false;
        return cover(copy, top);
    }
    *fits_out = false;
    const enum err_code rc = find_chunks(copy, newest);
    if (rc || copy->chunk_count == 0)
        return rc;
    return holds(&copy->chunks[copy->chunk_count - 1], top) ? cover(copy, top) : ERR_OK;
}

remote_addr copy_frame_between(const struct copy *copy)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame)
        return field_u64(copy->tstate, layout->tstate_current_frame);
    return copy->cframe_addr &&
                   copy->cframe_addr == field_u64(copy->tstate, layout->tstate_cframe)
               ? field_u64(copy->cframe, layout->cframe_current_frame)
               : 0;
}

enum err_code copy_current_frame(struct copy *copy, remote_addr *out)
{
    const struct layout *const layout = copy->layout;
    if (layout->tstate_current_frame) {
        *out = field_u64(copy->tstate, layout->tstate_current_frame);
        return ERR_OK;
    }
    const remote_addr cframe = field_u64(copy->tstate, layout->tstate_cframe);
    if (cframe != copy->cframe_addr) {
        copy->cframe_addr = 0;
        const enum err_code rc =
            memory_read(copy->memory, cframe, copy->cframe, layout->cframe_bytes);
        if (rc)
            return rc;
        copy->cframe_addr = cframe;
    }
    *out = field_u64(copy->cframe, layout->cframe_current_frame);
    return ERR_OK;
}

const unsigned char *copy_loose(const struct copy *copy, enum copy_reading reading,
                                remote_addr addr)
{
    const struct copy_loose *const loose = find_loose(copy, addr);
    return loose ? loose->reading[reading] : NULL;
}

bool copy_in_chunks(const struct copy *copy, remote_addr addr)
{
    for (size_t i = copy->chunk_count; i-- > 0;)
        if (holds(&copy->chunks[i], addr))
            return true;
    return false;
}

enum err_code copy_add_loose(struct copy *copy, remote_addr addr)
{
    if (find_loose(copy, addr))
        return ERR_OK;
    if (copy->loose_count == COPY_MAX_LOOSE)
        return ERR_LIMIT;
    if (copy->loose_count == copy->loose_room) {
        const size_t room = copy->loose_room ? copy->loose_room * 2 : 4;
        struct copy_loose *const more = realloc(copy->loose, room * sizeof *more);
        if (!more)
            return ERR_NOMEM;
        copy->loose = more;
        copy->loose_room = room;
    }
    const uint32_t at = (uint32_t)copy->loose_count++;
    copy->has_last = false;
    memset(&copy->loose[at], 0, sizeof copy->loose[at]);
    copy->loose[at].addr = addr;
    copy->loose[at].last_used = copy->readings;
    return idmap_add(&copy->loose_index, hash_of(addr), at, NULL);
}

void copy_mark_used(struct copy *copy, remote_addr addr)
{
    struct copy_loose *const loose = find_loose(copy, addr);
    if (loose)
        loose->last_used = copy->readings;
}

void copy_drop_idle(struct copy *copy)
{
    const size_t before = copy->loose_count;
    for (size_t i = copy->loose_count; i-- > 0;)
        if (copy->readings - copy->loose[i].last_used > COPY_IDLE_READINGS)
            copy->loose[i] = copy->loose[--copy->loose_count];
    if (copy->loose_count != before)
        index_loose(copy);
}
