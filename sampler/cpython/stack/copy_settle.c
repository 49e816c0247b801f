#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

/* The chunk that a span is of: it may begin behind a tail. */
static struct copy_chunk *chunk_at(const struct copy *copy, remote_addr addr)
{
    for (size_t i = 0; i < copy->chunk_count; i++)
        if (addr - copy->chunks[i].addr < copy->chunks[i].size)
            return &copy->chunks[i];
    return NULL;
}

/* Handles a predicted span that could not be read: its memory is gone. */
static enum err_code lose(struct copy *copy, remote_addr addr)
{
    if (addr == copy->tstate_addr)
        return ERR_GONE;
    for (size_t i = 0; i < copy->cframe_count; i++)
        if (copy->cframes[i].addr == addr) {
            copy->cframes[i].is_lost = true;
            return ERR_OK;
        }
    struct copy_off_chunk *const off_chunk = copy_find_off_chunk(copy, addr);
    if (off_chunk)
        off_chunk->is_lost = true;
    struct copy_chunk *const chunk = off_chunk ? NULL : chunk_at(copy, addr);
    if (chunk)
        chunk->bytes = chunk->known.mark = 0;
    return ERR_OK;
}

/* The number of spans that arrived completely. */
static size_t whole_spans(const struct memory_span *spans, size_t count, size_t arrived)
{
    size_t i = 0;
    while (i < count && arrived >= spans[i].bytes)
        arrived -= spans[i++].bytes;
    return i;
}

/* The thread state names the newest chunk, so chunks above it are gone too.  Returns the index of the
 * first span after them. */
static size_t skip_gone_chunks(const struct copy *copy, const struct memory_span *spans,
                               size_t at)
{
    const struct copy_chunk *const newest =
        chunk_at(copy, field_u64(copy->tstate, copy->layout->tstate_datastack_chunk));
    for (; newest && at < copy->plan_spans; at++) {
        struct copy_chunk *const chunk = chunk_at(copy, spans[at].addr);
        if (!chunk || chunk <= newest)
            break;
        chunk->bytes = chunk->known.mark = 0;
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
        rc = lose(copy, spans[at].addr);
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
    for (size_t i = copy->cframe_count; i-- > 0;)
        if (copy->cframes[i].is_lost)
            copy_drop_cframe(copy, i);
    bool dropped = false;
    for (size_t i = copy->off_chunk_count; i-- > 0;)
        if (copy->off_chunk[i].is_lost) {
            copy->off_chunk[i] = copy->off_chunk[--copy->off_chunk_count];
            dropped = true;
        }
    if (dropped)
        copy_index_off_chunk(copy);

    /* The generation must be read after the frames, so it is read again. */
    if (!rc && copy->generation_addr)
        rc = memory_read_u64(copy->memory, copy->generation_addr, &copy->generation);
    return rc;
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

enum err_code copy_read(struct copy *copy)
{
    const size_t room = copy_plan_count(copy) + 1;
    size_t arrived;
    if (!VEC_RESERVE(copy->spans, copy->span_room, room))
        return ERR_NOMEM;
    size_t count = copy_plan(copy, copy->spans);
    if (copy->generation_addr)
        copy->spans[count++] = (struct memory_span){ copy->generation_addr, &copy->generation,
                                                     sizeof copy->generation };
    const enum err_code rc = read_all(copy, count, &arrived);
    if (rc && rc != ERR_FAULT)
        return rc;
    return copy_settle(copy, copy->spans, count, arrived);
}
