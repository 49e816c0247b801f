#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/copy.h"
#include "sampler/cpython/copy_parts.h"
#include "sampler/cpython/object.h"

enum {
    PAGE_BYTES = 4096,
    CHUNK_BYTES = 16384, /* of one that no large frame needed */
};

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
    uint64_t bytes = top - newest->addr + COPY_SLACK_BYTES;
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
            COPY_CHUNK_HEADER_BYTES + field_u64(chunk->reading[COPY_A], COPY_CHUNK_USED_AT) %
                                          (1u << 28) * sizeof(uint64_t);
        if (used <= chunk->size && used > chunk->next_bytes &&
            held_bytes(copy, copy->chunk_count) + used <= COPY_MAX_BYTES) {
            chunk->next_bytes = (size_t)used;
            rc = reserve_chunk(chunk, chunk->next_bytes);
        }
    }
    return rc;
}

/* Next time the used part of the newest chunk will be copied, and what is pushed next. */
static enum err_code cover_newest(struct copy *copy)
{
    const remote_addr top = copy_stack_top(copy);
    struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
    if (!copy_chunk_holds(newest, top))
        return ERR_OK;
    const size_t used = (size_t)(top - newest->addr);
    newest->most = used > newest->most ? used : newest->most;
    return used + COPY_SLACK_BYTES / 2 > newest->next_bytes && newest->next_bytes < newest->size
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
