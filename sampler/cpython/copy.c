#include "sampler/cpython/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/object.h"

enum {
    SLACK_BYTES = 512,   /* above the top of the stack, for what is pushed next */
    AGAIN_BYTES = 8192,  /* below the top of the stack, read as B too */
    TRIM_READINGS = 256, /* a chunk is copied as far as it was used in so many */
    PAGE_BYTES = 4096,
    CHUNK_BYTES = 16384,   /* of one that no large frame needed */
    USED_WORDS = 16,       /* in a chunk's header */
    OWNER_INTERPRETER = 3, /* "C stack" in 3.12 and 3.13; 4 in 3.14 is on the C stack too */
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
    idmap_clear(&copy->loose_index);
    for (uint32_t i = 0; i < copy->loose_count; i++)
        (void)!idmap_add(&copy->loose_index, hash_of(copy->loose[i].addr), i, NULL);
}

static struct memory_span chunk_span(const struct copy_chunk *chunk)
{
    return (struct memory_span){ chunk->addr, chunk->reading[COPY_A], chunk->bytes };
}

/* The newest chunks come first: they are nearest to the thread state in time. */
static size_t plan_chunks(const struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    for (size_t i = copy->chunk_count; i-- > 0;)
        if (copy->chunks[i].bytes)
            spans[count++] = chunk_span(&copy->chunks[i]);
    return count;
}

static struct memory_span loose_span(const struct copy *copy, struct copy_loose *loose,
                                     enum copy_reading reading)
{
    return (struct memory_span){ loose->addr, loose->reading[reading],
                                 copy->layout->frame_bytes };
}

static size_t plan_first(struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    spans[count++] =
        (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    for (size_t i = 0; i < copy->cframe_count; i++)
        spans[count++] = (struct memory_span){ copy->cframes[i].addr, copy->cframes[i].bytes,
                                               copy->layout->cframe_bytes };
    count += plan_chunks(copy, spans + count);
    for (size_t i = 0; i < copy->loose_count; i++)
        spans[count++] = loose_span(copy, &copy->loose[i], COPY_A);
    if (copy->generation_addr)
        spans[count++] = (struct memory_span){ copy->generation_addr, &copy->generation,
                                               sizeof copy->generation };
    return count;
}

bool copy_is_entry(const struct layout *layout, const unsigned char *frame)
{
    return LAYOUT_MINOR(layout->version) >= 12 &&
           frame[layout->frame_owner] >= OWNER_INTERPRETER;
}

/* Frames of generators that have just been part of the stack may be so again. */
static bool is_in_use(const struct copy *copy, const struct copy_loose *loose)
{
    return !loose->is_entry && copy->readings - loose->last_used <= 2;
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
    for (size_t i = 0; i < copy->loose_count; i++)
        if (is_in_use(copy, &copy->loose[i]))
            spans[count++] = loose_span(copy, &copy->loose[i], COPY_B);
    return count;
}

size_t copy_plan_count(const struct copy *copy, bool is_glance)
{
    size_t count = 1 + copy->cframe_count + copy->chunk_count + copy->loose_count +
                   (copy->generation_addr != 0);
    if (is_glance)
        return count;
    for (size_t i = 0; i < copy->loose_count; i++)
        count += is_in_use(copy, &copy->loose[i]);
    return count + (copy->chunk_count != 0);
}

/* What was A becomes LAST, and the old LAST is overwritten. */
static void turn_over(struct copy *copy)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        unsigned char *const last = chunk->reading[COPY_LAST];
        chunk->reading[COPY_LAST] = chunk->reading[COPY_A];
        chunk->reading[COPY_A] = last;
        chunk->last_bytes = chunk->bytes;
    }
    for (size_t i = 0; i < copy->loose_count; i++) {
        memcpy(copy->loose[i].reading[COPY_LAST], copy->loose[i].reading[COPY_A],
               copy->layout->frame_bytes);
        copy->loose[i].has_last = true;
    }
    copy->is_kept = false;
}

static bool holds(const struct copy_chunk *chunk, remote_addr addr)
{
    return addr >= chunk->addr + COPY_CHUNK_HEADER_BYTES && addr <= chunk->addr + chunk->size;
}

/* Where the second reading of the newest chunk begins: a little below where its top was. */
static size_t again_from(const struct copy *copy, const struct copy_chunk *newest)
{
    const remote_addr top = copy_stack_top(copy);
    const uint64_t used = holds(newest, top) ? top - newest->addr : 0;
    const size_t from = used > AGAIN_BYTES ? (size_t)(used - AGAIN_BYTES) : 0;
    return from < newest->bytes ? from / sizeof(uint64_t) * sizeof(uint64_t) : newest->bytes;
}

static void set_extents(struct copy *copy, bool is_glance)
{
    for (size_t i = 0; i < copy->chunk_count; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        chunk->again_from = chunk->bytes = chunk->next_bytes;
    }
    if (copy->chunk_count && !is_glance) {
        struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
        newest->again_from = again_from(copy, newest);
    }
    for (size_t i = 0; i < copy->loose_count; i++)
        copy->loose[i].has_again = !is_glance && is_in_use(copy, &copy->loose[i]);
}

static void trim(struct copy_chunk *newest)
{
    const size_t need = newest->most + SLACK_BYTES;
    if (need < newest->next_bytes)
        newest->next_bytes = need;
    newest->most = 0;
}

void copy_plan(struct copy *copy, bool is_glance, struct memory_span *spans)
{
    if (copy->is_kept)
        turn_over(copy);
    if (copy->chunk_count && copy->readings % TRIM_READINGS == TRIM_READINGS - 1)
        trim(&copy->chunks[copy->chunk_count - 1]);
    set_extents(copy, is_glance);
    copy->first_spans = plan_first(copy, spans);
    copy->plan_spans = copy->first_spans;
    if (!is_glance)
        copy->plan_spans += plan_again(copy, spans + copy->first_spans);
    copy->has_again = !is_glance;
    copy->readings++;
}

static void drop_cframe(struct copy *copy, size_t at)
{
    copy->cframe_count--;
    memmove(copy->cframes + at, copy->cframes + at + 1,
            (copy->cframe_count - at) * sizeof *copy->cframes);
}

/* A prediction that could not be read: nothing of it is there now. */
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
    struct copy_loose *const loose = find_loose(copy, addr);
    if (loose)
        loose->is_lost = true;
    for (size_t i = 0; i < copy->chunk_count && !loose; i++)
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
    for (size_t i = copy->loose_count; i-- > 0;)
        if (copy->loose[i].is_lost) {
            copy->loose[i] = copy->loose[--copy->loose_count];
            dropped = true;
        }
    if (dropped)
        index_loose(copy);
}

/* How many places have arrived whole. */
static size_t whole_spans(const struct memory_span *spans, size_t count, size_t arrived)
{
    size_t i = 0;
    while (i < count && arrived >= spans[i].bytes)
        arrived -= spans[i++].bytes;
    return i;
}

/* What lies behind a place that could not be read is read by another call. */
enum err_code copy_settle(struct copy *copy, const struct memory_span *spans, size_t count,
                          size_t arrived)
{
    size_t at = whole_spans(spans, count, arrived);
    enum err_code rc = ERR_OK;
    bool lost = false;
    while (at < count && !rc) {
        rc = lose(copy, spans[at].addr, at >= copy->first_spans);
        lost = true;
        if (++at == count || rc)
            break;
        const size_t left = count - at;
        const size_t n = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        rc = memory_readv(copy->memory, spans + at, n, &arrived);
        rc = rc == ERR_FAULT ? ERR_OK : rc;
        at += whole_spans(spans + at, n, arrived);
    }
    if (lost)
        drop_lost(copy);
    return rc;
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
    const size_t count = copy_plan_count(copy, false);
    enum err_code rc = reserve_spans(copy, count);
    size_t sum = 0;
    if (rc)
        return rc;
    copy_plan(copy, false, copy->spans);
    for (size_t at = 0; at < count; at += MEMORY_MAX_SPANS) {
        const size_t left = count - at;
        const size_t n = left < MEMORY_MAX_SPANS ? left : MEMORY_MAX_SPANS;
        size_t arrived;
        rc = memory_readv(copy->memory, copy->spans + at, n, &arrived);
        sum += arrived;
        if (rc)
            break;
    }
    return rc && rc != ERR_FAULT ? rc : copy_settle(copy, copy->spans, count, sum);
}

void copy_keep(struct copy *copy)
{
    copy->is_kept = true;
}

void copy_forget(struct copy *copy)
{
    copy->is_kept = false;
    for (size_t i = 0; i < copy->chunk_count; i++)
        copy->chunks[i].last_bytes = 0;
    for (size_t i = 0; i < copy->loose_count; i++)
        copy->loose[i].has_last = false;
}

/* The first byte at which two readings differ, `bytes`: none. */
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

/* The header's word of what is used says nothing of frames. */
static size_t chunk_difference(const struct copy_chunk *chunk, size_t bytes)
{
    const unsigned char *const a = chunk->reading[COPY_A], *const last =
                                                               chunk->reading[COPY_LAST];
    if (bytes < COPY_CHUNK_HEADER_BYTES || memcmp(a, last, USED_WORDS) != 0)
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

bool copy_loose_is_same(const struct copy *copy)
{
    for (size_t i = 0; i < copy->loose_count; i++)
        if (!copy->loose[i].has_last ||
            memcmp(copy->loose[i].reading[COPY_A], copy->loose[i].reading[COPY_LAST],
                   copy->layout->frame_bytes) != 0)
            return false;
    return true;
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

static size_t held_bytes(const struct copy *copy, size_t count)
{
    size_t held = 0;
    for (size_t i = 0; i < count; i++)
        held += copy->chunks[i].next_bytes;
    return held;
}

/* The chunk at `index`, of which nothing has been copied; `held`: bytes of those below it. */
static enum err_code set_chunk(struct copy *copy, size_t index, size_t held, remote_addr addr,
                               const uint64_t header[3])
{
    if (header[1] < COPY_CHUNK_HEADER_BYTES || header[1] > COPY_MAX_CHUNK_BYTES ||
        header[2] > header[1] / sizeof(uint64_t))
        return ERR_CORRUPT;
    const enum err_code rc = reserve_chunks(copy, index + 1);
    if (rc)
        return rc;
    struct copy_chunk *const chunk = &copy->chunks[index];
    const uint64_t used = COPY_CHUNK_HEADER_BYTES + header[2] * sizeof(uint64_t);
    chunk->addr = addr;
    chunk->size = header[1];
    chunk->next_bytes = (size_t)(used < chunk->size ? used : chunk->size);
    chunk->bytes = chunk->again_from = chunk->last_bytes = chunk->most = 0;
    return held + chunk->next_bytes > COPY_MAX_BYTES ? ERR_LIMIT
                                                     : reserve_chunk(chunk, chunk->next_bytes);
}

static enum err_code find_chunks(struct copy *copy, remote_addr newest)
{
    remote_addr addr = newest, mark = 0;
    size_t count = 0, held = 0;
    copy->chunk_count = 0;
    copy->is_kept = false;
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
            rc = set_chunk(copy, count, held, addr, header);
        if (rc)
            return rc;
        held += copy->chunks[count++].next_bytes;
        addr = header[0];
    }
    reverse(copy->chunks, count);
    copy->chunk_count = count;
    return ERR_OK;
}

/* Copies the newest chunk up to `top` and a little more. */
static enum err_code cover(struct copy_chunk *newest, remote_addr top)
{
    uint64_t bytes = top - newest->addr + SLACK_BYTES;
    if (bytes > newest->size)
        bytes = newest->size;
    newest->next_bytes = (size_t)bytes;
    return reserve_chunk(newest, newest->next_bytes);
}

/* A chunk above those that are known.  Its header is read now, if it is still there; if it is
 * not, it was as large as chunks are. */
static enum err_code add_chunk(struct copy *copy, remote_addr newest, bool *added_out)
{
    const size_t index = copy->chunk_count;
    const remote_addr below = index ? copy->chunks[index - 1].addr : 0;
    const remote_addr top = copy_stack_top(copy);
    uint64_t header[3] = { below, CHUNK_BYTES, 0 };
    const bool is_there = !memory_read(copy->memory, newest, header, sizeof header);
    *added_out = header[0] == below && header[2] <= header[1] / sizeof(uint64_t) &&
                 top >= newest && top - newest <= header[1];
    if (!*added_out)
        return ERR_OK;
    /* The header of the newest one does not say how much of it is used. */
    header[2] = (top - newest) / sizeof(uint64_t);
    const enum err_code rc = set_chunk(copy, index, held_bytes(copy, index), newest, header);
    if (rc)
        return rc;
    struct copy_chunk *const chunk = &copy->chunks[copy->chunk_count++];
    if (is_there &&
        !memory_read(copy->memory, newest, chunk->reading[COPY_A], chunk->next_bytes))
        chunk->bytes = chunk->again_from = chunk->next_bytes;
    return ERR_OK;
}

/* Makes the chunks those of a stack whose newest is at `newest`. */
static enum err_code follow_chunks(struct copy *copy, remote_addr newest)
{
    bool added;
    for (size_t i = copy->chunk_count; i-- > 0;)
        if (copy->chunks[i].addr == newest) {
            copy->chunk_count = i + 1;
            return ERR_OK;
        }
    if (!newest) {
        copy->chunk_count = 0;
        return ERR_OK;
    }
    const enum err_code rc = add_chunk(copy, newest, &added);
    return rc || added ? rc : find_chunks(copy, newest);
}

/* The headers copied must still form the chain that was predicted. */
static bool chain_holds(const struct copy *copy)
{
    remote_addr before = 0;
    for (size_t i = 0; i < copy->chunk_count; i++) {
        const struct copy_chunk *const chunk = &copy->chunks[i];
        if (chunk->bytes >= COPY_CHUNK_HEADER_BYTES &&
            field_u64(chunk->reading[COPY_A], 0) != before)
            return false;
        before = chunk->addr;
    }
    return true;
}

/* A chunk below the newest may have been the newest itself and hold more now. */
static enum err_code cover_lower(struct copy *copy)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i + 1 < copy->chunk_count && !rc; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        if (chunk->bytes < COPY_CHUNK_HEADER_BYTES)
            continue;
        const uint64_t used =
            COPY_CHUNK_HEADER_BYTES +
            field_u64(chunk->reading[COPY_A], USED_WORDS) % (1u << 28) * sizeof(uint64_t);
        if (used <= chunk->size && used > chunk->next_bytes &&
            held_bytes(copy, copy->chunk_count) + used <= COPY_MAX_BYTES) {
            chunk->next_bytes = (size_t)used;
            rc = reserve_chunk(chunk, chunk->next_bytes);
        }
    }
    return rc;
}

remote_addr copy_stack_top(const struct copy *copy)
{
    return field_u64(copy->tstate, copy->layout->tstate_datastack_top);
}

/* Next time the used part of the newest chunk will be copied, and what is pushed next. */
static enum err_code cover_newest(struct copy *copy)
{
    const remote_addr top = copy_stack_top(copy);
    struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
    if (!holds(newest, top))
        return ERR_OK;
    const size_t used = (size_t)(top - newest->addr);
    newest->most = used > newest->most ? used : newest->most;
    return used + SLACK_BYTES / 2 > newest->next_bytes && newest->next_bytes < newest->size
               ? cover(newest, top)
               : ERR_OK;
}

enum err_code copy_follow(struct copy *copy)
{
    const remote_addr newest = field_u64(copy->tstate, copy->layout->tstate_datastack_chunk);
    if (copy->ident && field_u64(copy->tstate, copy->layout->tstate_thread_id) != copy->ident)
        return ERR_GONE;
    enum err_code rc = follow_chunks(copy, newest);
    if (!rc && !chain_holds(copy))
        rc = find_chunks(copy, newest);
    if (!rc && copy->chunk_count)
        rc = cover_newest(copy);
    return rc ? rc : cover_lower(copy);
}

static struct copy_cframe *find_cframe(struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr)
            return &copy->cframes[i];
    return NULL;
}

/* The one at addr first, instead of the one not used for longest if there are too many. */
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

/* Frames are mostly looked for in the order of the stack: near the one before. */
uint64_t copy_place_near(const struct copy *copy, remote_addr addr, uint64_t near)
{
    const size_t count = copy->chunk_count;
    const size_t from = near >> 32 < count ? (size_t)(near >> 32) + 1 : count;
    for (size_t i = from; i-- > 0;)
        if (holds(&copy->chunks[i], addr))
            return place_of(i, (size_t)(addr - copy->chunks[i].addr));
    for (size_t i = from; i < count; i++)
        if (holds(&copy->chunks[i], addr))
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

static bool has_reading(const struct copy *copy, const struct copy_loose *loose,
                        enum copy_reading reading)
{
    return reading == COPY_A || (reading == COPY_LAST && loose->has_last) ||
           (reading == COPY_B && loose->has_again && copy->has_again);
}

const unsigned char *copy_loose(const struct copy *copy, enum copy_reading reading,
                                remote_addr addr)
{
    const struct copy_loose *const loose = find_loose(copy, addr);
    return loose && has_reading(copy, loose, reading) ? loose->reading[reading] : NULL;
}

static enum err_code reserve_loose(struct copy *copy)
{
    if (copy->loose_count == COPY_MAX_LOOSE)
        return ERR_LIMIT;
    if (copy->loose_count < copy->loose_room)
        return ERR_OK;
    const size_t room = copy->loose_room ? copy->loose_room * 2 : 4;
    struct copy_loose *const more = realloc(copy->loose, room * sizeof *more);
    if (!more)
        return ERR_NOMEM;
    copy->loose = more;
    copy->loose_room = room;
    return ERR_OK;
}

enum err_code copy_add_loose(struct copy *copy, remote_addr addr)
{
    if (find_loose(copy, addr))
        return ERR_OK;
    const enum err_code rc = reserve_loose(copy);
    if (rc)
        return rc;
    const uint32_t at = (uint32_t)copy->loose_count++;
    memset(&copy->loose[at], 0, sizeof copy->loose[at]);
    copy->loose[at].addr = addr;
    copy->loose[at].last_used = copy->readings;
    return idmap_add(&copy->loose_index, hash_of(addr), at, NULL);
}

/* Where the thread keeps the frame that runs. */
static remote_addr running_addr(const struct copy *copy)
{
    const struct layout *const layout = copy->layout;
    return layout->tstate_current_frame
               ? copy->tstate_addr + layout->tstate_current_frame
               : field_u64(copy->tstate, layout->tstate_cframe) + layout->cframe_current_frame;
}

enum err_code copy_fetch_loose(struct copy *copy, remote_addr addr, remote_addr running)
{
    const size_t bytes = copy->layout->frame_bytes;
    unsigned char frame[LAYOUT_MAX_FRAME_BYTES];
    uint64_t runs_now = 0;
    size_t arrived;
    const struct memory_span spans[] = {
        { addr, frame, bytes },
        { running_addr(copy), &runs_now, sizeof runs_now },
    };
    enum err_code rc =
        memory_readv(copy->memory, spans, sizeof spans / sizeof *spans, &arrived);
    if (arrived >= bytes)
        rc = copy_add_loose(copy, addr);
    struct copy_loose *const loose = find_loose(copy, addr);
    if (rc || !loose)
        return rc;
    memcpy(loose->reading[COPY_A], frame, bytes);
    memcpy(loose->reading[COPY_B], frame, bytes);
    loose->has_again = runs_now == running;
    return ERR_OK;
}

void copy_mark_used(struct copy *copy, remote_addr addr, remote_addr caller)
{
    struct copy_loose *const loose = find_loose(copy, addr);
    if (!loose)
        return;
    loose->last_used = copy->readings;
    loose->is_entry = copy_is_entry(copy->layout, loose->reading[COPY_A]);
    if (caller)
        loose->caller = caller;
}

remote_addr copy_loose_caller(const struct copy *copy, remote_addr addr)
{
    const struct copy_loose *const loose = find_loose(copy, addr);
    return loose ? loose->caller : 0;
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
