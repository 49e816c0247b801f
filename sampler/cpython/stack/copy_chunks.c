#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/copy_parts.h"

enum {
    PAGE_BYTES = 4096,
    CHUNK_BYTES = 16384, /* of a chunk of the usual size */
    MAX_DOUBTS = 4,      /* another first chunk is accepted when seen this often in a row */
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

static size_t held_bytes(const struct copy *copy, size_t count)
{
    size_t held = 0;
    for (size_t i = 0; i < count; i++)
        held += copy->chunks[i].next_bytes;
    return held;
}

/* Sets the chunk at `index`; none of it is copied yet.  `held`: bytes of the chunks below it. */
static enum err_code set_chunk(struct copy *copy, size_t index, size_t held, remote_addr addr,
                               const uint64_t header[3])
{
    if (header[1] < COPY_CHUNK_HEADER_BYTES || header[1] > COPY_MAX_CHUNK_BYTES ||
        header[2] > header[1] / sizeof(uint64_t))
        return ERR_CORRUPT;
    const size_t before = copy->chunk_room;
    if (!VEC_RESERVE(copy->chunks, copy->chunk_room, index + 1))
        return ERR_NOMEM;
    memset(copy->chunks + before, 0, (copy->chunk_room - before) * sizeof *copy->chunks);

    struct copy_chunk *const chunk = &copy->chunks[index];
    const uint64_t used = COPY_CHUNK_HEADER_BYTES + header[2] * sizeof(uint64_t);
    chunk->addr = addr;
    chunk->size = header[1];
    chunk->next_bytes = (size_t)(used < chunk->size ? used : chunk->size);
    chunk->bytes = chunk->last_bytes = chunk->most = 0;
    chunk->known = chunk->last_known = (struct copy_known){ 0 };
    return held + chunk->next_bytes > COPY_MAX_BYTES ? ERR_LIMIT
                                                     : reserve_chunk(chunk, chunk->next_bytes);
}

/* The stack has grown into chunks of earlier readings: copies the newest of them. */
static enum err_code grow_to(struct copy *copy, size_t count)
{
    enum { MOST = 8 };
    struct memory_span spans[MOST];
    size_t wanted = 0, arrived;
    for (size_t i = count; i-- > copy->chunk_count && wanted < MOST;) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        chunk->known.mark = 0;
        spans[wanted++] =
            (struct memory_span){ chunk->addr, chunk->reading[COPY_A], chunk->next_bytes };
    }
    copy->chunk_count = count;
    const enum err_code rc =
        wanted ? memory_readv(copy->memory, spans, wanted, &arrived) : ERR_OK;
    for (size_t i = 0; i < wanted && arrived >= spans[i].bytes; arrived -= spans[i++].bytes)
        copy->chunks[count - 1 - i].bytes = spans[i].bytes;
    return rc == ERR_FAULT ? ERR_OK : rc;
}

/* A chunk's header: the chunk below it, its bytes, the words used. */
struct link {
    remote_addr addr;
    uint64_t header[3];
};

/* Follows the list of chunks, newest first. */
static enum err_code follow_links(struct copy *copy, remote_addr newest, struct link **links,
                                  size_t *count_out)
{
    remote_addr addr = newest, mark = 0;
    size_t room = 0, count = 0;
    enum err_code rc = ERR_OK;
    while (addr && !rc) {
        if (count == COPY_MAX_CHUNKS)
            return ERR_LIMIT;
        /* The mark is a chunk at a power of two: a list that returns to it is a circle. */
        if (addr == mark)
            return ERR_CORRUPT;
        if ((count & (count - 1)) == 0)
            mark = addr;
        if (!VEC_RESERVE(*links, room, count + 1)) {
            rc = ERR_NOMEM;
            break;
        }
        struct link *const link = &(*links)[count++];
        link->addr = addr;
        rc = memory_read(copy->memory, addr, link->header, sizeof link->header);
        addr = link->header[0];
    }
    *count_out = count;
    return rc;
}

/* A thread's first chunk never changes.  But a popped chunk that the interpreter stores for later has
 * no chunk below it either, and must not be taken for the first one. */
static bool begins_elsewhere(struct copy *copy, remote_addr first)
{
    const bool is_other = copy->chunk_known && copy->chunks[0].addr != first;
    copy->doubts = is_other ? copy->doubts + 1 : 0;
    return is_other && copy->doubts < MAX_DOUBTS && !copy->is_still;
}

/* The header of the newest chunk does not say how much of it is used. */
static void use_up_to_top(const struct copy *copy, remote_addr newest, uint64_t header[3])
{
    const remote_addr top = copy_stack_top(copy);
    if (top >= newest && top - newest <= header[1] && header[2] <= header[1] / sizeof(uint64_t))
        header[2] = (top - newest) / sizeof(uint64_t);
}

/* Finds all chunks again.  If the list cannot be followed, the known chunks stay. */
static enum err_code find_chunks(struct copy *copy, remote_addr newest)
{
    struct link *links = NULL;
    size_t count = 0, held = 0;
    enum err_code rc = follow_links(copy, newest, &links, &count);
    if (!rc && count && begins_elsewhere(copy, links[count - 1].addr))
        rc = ERR_FAULT;
    if (!rc && count)
        use_up_to_top(copy, newest, links[0].header);
    if (!rc) {
        copy->chunk_count = copy->chunk_known = 0;
        copy->is_accepted = false;
    }
    for (size_t i = 0; i < count && !rc; i++) {
        const struct link *const link = &links[count - 1 - i];
        rc = set_chunk(copy, i, held, link->addr, link->header);
        held += rc ? 0 : copy->chunks[i].next_bytes;
    }
    free(links);
    if (rc)
        return rc;
    copy->chunk_known = count;
    return grow_to(copy, count);
}

/* From the next reading on, the newest chunk is copied up to `top` and COPY_SLACK_BYTES more. */
static enum err_code cover(struct copy_chunk *newest, remote_addr top)
{
    uint64_t bytes = top - newest->addr + COPY_SLACK_BYTES;
    if (bytes > newest->size)
        bytes = newest->size;
    newest->next_bytes = (size_t)bytes;
    return reserve_chunk(newest, newest->next_bytes);
}

/* The number of known chunks below a chunk whose header names `below`; SIZE_MAX: `below` is unknown. */
static size_t count_below(const struct copy *copy, remote_addr below)
{
    for (size_t i = copy->chunk_known; i-- > 0;)
        if (copy->chunks[i].addr == below)
            return i + 1;
    return SIZE_MAX;
}

/* Adds a chunk above a known one and reads its header.  If the chunk is gone already, it is taken to
 * have had the usual size, above the newest known chunk. */
static enum err_code add_chunk(struct copy *copy, remote_addr newest, bool *added_out)
{
    const remote_addr top = copy_stack_top(copy);
    uint64_t header[3] = { 0, CHUNK_BYTES, 0 };
    *added_out = false;
    if (!copy->chunk_count)
        return ERR_OK;
    const bool is_there = !memory_read(copy->memory, newest, header, sizeof header);
    const size_t index = is_there ? count_below(copy, header[0]) : copy->chunk_count;
    if (index == SIZE_MAX || header[2] > header[1] / sizeof(uint64_t) || top < newest ||
        top - newest > header[1])
        return ERR_OK;
    use_up_to_top(copy, newest, header);
    enum err_code rc = set_chunk(copy, index, held_bytes(copy, index), newest, header);
    if (rc)
        return rc;
    copy->chunk_known = index + 1;
    if (copy->chunk_count > index)
        copy->chunk_count = index;
    *added_out = true;
    return grow_to(copy, index + 1);
}

/* Updates the chunks to those of a stack whose newest chunk is `newest`. */
static enum err_code follow_chunks(struct copy *copy, remote_addr newest)
{
    bool added;
    for (size_t i = copy->chunk_known; i-- > 0;)
        if (copy->chunks[i].addr == newest) {
            if (i + 1 > copy->chunk_count)
                return grow_to(copy, i + 1);
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

/* Do the copied headers still form the predicted chain?  A link may be 0: 3.15 stores a popped chunk
 * for later and clears only its link. */
static bool chain_holds(const struct copy *copy)
{
    remote_addr before = 0;
    for (size_t i = 0; i < copy->chunk_count; i++) {
        const struct copy_chunk *const chunk = &copy->chunks[i];
        const remote_addr below = chunk->bytes >= COPY_CHUNK_HEADER_BYTES
                                      ? field_u64(chunk->reading[COPY_A], 0)
                                      : before;
        if (below && below != before)
            return false;
        before = chunk->addr;
    }
    return true;
}

/* As far as a chunk below the newest is used.  The header of the one that the tail ends in may be an older one. */
static uint64_t used_bytes(const struct copy *copy, const struct copy_chunk *chunk)
{
    if (chunk->known.mark && copy_chunk_holds(chunk, copy->tail.from))
        return chunk->size;
    return COPY_CHUNK_HEADER_BYTES + field_u64(chunk->reading[COPY_A], COPY_CHUNK_USED_AT) %
                                         (1u << 28) * sizeof(uint64_t);
}

/* A chunk below the newest may have been the newest before, and may hold more now. */
static enum err_code cover_lower(struct copy *copy)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i + 1 < copy->chunk_count && !rc; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        if (chunk->bytes < COPY_CHUNK_HEADER_BYTES)
            continue;
        const uint64_t used = used_bytes(copy, chunk);
        if (used <= chunk->size && used > chunk->next_bytes &&
            held_bytes(copy, copy->chunk_count) + used <= COPY_MAX_BYTES) {
            chunk->next_bytes = (size_t)used;
            rc = reserve_chunk(chunk, chunk->next_bytes);
        }
    }
    return rc;
}

/* The next reading copies the used part of the newest chunk, and room for the next frames. */
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
