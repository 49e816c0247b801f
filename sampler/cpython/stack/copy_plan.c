#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

enum {
    TRIM_READINGS = 256, /* a chunk is copied as far as this many readings used it */
};

/* The number of the chunk's bytes to read that are below the tail's end; `is_above`: is the
 * chunk above that of the tail? */
static size_t tail_bytes(const struct copy *copy, const struct copy_chunk *chunk,
                         bool *is_above)
{
    const uint64_t bytes = copy->tail.from - chunk->addr;
    const bool ends_here = *is_above && bytes && bytes <= chunk->size;
    if (*is_above && !ends_here)
        return 0;
    *is_above = false;
    return ends_here && bytes < chunk->bytes ? (size_t)bytes : chunk->bytes;
}

/* Returns how many of the first `bytes` bytes are in A already. */
static size_t keep_known(struct copy_chunk *chunk, uint64_t mark, size_t bytes)
{
    const struct copy_known *const last = &chunk->last_known;
    size_t known = 0;
    if (bytes && chunk->known.mark == mark) {
        known = chunk->known.bytes < bytes ? chunk->known.bytes : bytes;
    } else if (bytes && last->mark == mark) {
        known = last->bytes < bytes ? last->bytes : bytes;
        memcpy(chunk->reading[COPY_A], chunk->reading[COPY_LAST], known);
    }
    chunk->known = (struct copy_known){ bytes ? mark : 0, bytes };
    return known;
}

/* The newest chunks come first: their frames change soonest after the thread state is read. */
static size_t plan_chunks(struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    bool is_above = true;
    for (size_t i = copy->chunk_count; i-- > 0;) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        const size_t tail = copy->tail.mark ? tail_bytes(copy, chunk, &is_above) : 0;
        const size_t known = keep_known(chunk, copy->tail.mark, tail);
        if (known < chunk->bytes)
            spans[count++] =
                (struct memory_span){ chunk->addr + known, chunk->reading[COPY_A] + known,
                                      chunk->bytes - known };
    }
    return count;
}

static size_t plan_spans(struct copy *copy, struct memory_span *spans)
{
    size_t count = 0;
    spans[count++] =
        (struct memory_span){ copy->tstate_addr, copy->tstate, copy->tstate_bytes };
    for (size_t i = 0; i < copy->cframe_count; i++)
        spans[count++] = (struct memory_span){ copy->cframes[i].addr, copy->cframes[i].bytes,
                                               copy->layout->cframe_bytes };
    count += plan_chunks(copy, spans + count);
    for (size_t i = 0; i < copy->off_chunk_count; i++) {
        struct copy_off_chunk *const off_chunk = &copy->off_chunk[i];
        /* A quick check needs no entry frames: the frames in the chunks around them show every change. */
        if (!copy->is_quick || !off_chunk->is_entry || !off_chunk->has_last)
            spans[count++] = (struct memory_span){ off_chunk->addr, off_chunk->reading[COPY_A],
                                                   copy->layout->frame_bytes };
    }
    return count;
}

size_t copy_plan_count(const struct copy *copy)
{
    return 1 + copy->cframe_count + copy->chunk_count + copy->off_chunk_count;
}

size_t copy_plan(struct copy *copy, struct memory_span *spans)
{
    if (copy->is_accepted) {
        /* A becomes LAST; the old LAST will be overwritten. */
        for (size_t i = 0; i < copy->chunk_count; i++) {
            struct copy_chunk *const chunk = &copy->chunks[i];
            unsigned char *const last = chunk->reading[COPY_LAST];
            chunk->reading[COPY_LAST] = chunk->reading[COPY_A];
            chunk->reading[COPY_A] = last;
            chunk->last_bytes = chunk->bytes;
            const struct copy_known known = chunk->last_known;
            chunk->last_known = chunk->known;
            chunk->known = known;
        }
        for (size_t i = 0; i < copy->off_chunk_count; i++) {
            memcpy(copy->off_chunk[i].reading[COPY_LAST], copy->off_chunk[i].reading[COPY_A],
                   copy->layout->frame_bytes);
            copy->off_chunk[i].has_last = true;
        }
        copy->is_accepted = false;
    }
    if (copy->chunk_count && copy->readings % TRIM_READINGS == TRIM_READINGS - 1) {
        struct copy_chunk *const newest = &copy->chunks[copy->chunk_count - 1];
        const size_t need = newest->most + COPY_SLACK_BYTES;
        if (need < newest->next_bytes)
            newest->next_bytes = need;
        newest->most = 0;
    }
    for (size_t i = 0; i < copy->chunk_known; i++) {
        struct copy_chunk *const chunk = &copy->chunks[i];
        chunk->bytes = i < copy->chunk_count ? chunk->next_bytes : 0;
        if (i >= copy->chunk_count)
            chunk->last_bytes = 0;
    }
    copy->plan_spans = plan_spans(copy, spans);
    copy->readings++;
    return copy->plan_spans;
}
