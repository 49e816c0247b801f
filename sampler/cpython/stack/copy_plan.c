#include <string.h>

#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/stack/copy_parts.h"

enum {
    AGAIN_BYTES = 8192,  /* below the top of the stack, read as B too */
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

/* The beginning of B in the newest chunk: AGAIN_BYTES below its last top. */
static size_t again_from(const struct copy *copy, const struct copy_chunk *newest)
{
    const remote_addr top = copy_stack_top(copy);
    const uint64_t used = copy_chunk_holds(newest, top) ? top - newest->addr : 0;
    const size_t from = used > AGAIN_BYTES ? (size_t)(used - AGAIN_BYTES) : 0;
    return from < newest->bytes ? from / sizeof(uint64_t) * sizeof(uint64_t) : newest->bytes;
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
            newest->again_from = newest->bytes = copy_used_bytes(copy, newest);
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
