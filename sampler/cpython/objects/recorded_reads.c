#include "sampler/cpython/objects/recorded_reads.h"

#include <stdlib.h>
#include <string.h>

/* Memory that cannot be recorded is not read, so this bounds what a chain may cost. */
static enum err_code read_recorded(struct memory *memory, const struct memory_span *spans,
                                   size_t count, size_t *bytes_out)
{
    struct recorded_reads *const reads = (struct recorded_reads *)memory;
    size_t room = RECORDED_READS_MAX_BYTES - reads->bytes;
    if (count > RECORDED_READS_MAX - reads->count)
        return ERR_LIMIT;
    for (size_t i = 0; i < count; i++) {
        if (spans[i].bytes > room)
            return ERR_LIMIT;
        room -= spans[i].bytes;
    }

    const enum err_code rc = memory_readv(reads->source, spans, count, bytes_out);
    size_t arrived = *bytes_out;
    for (size_t i = 0; i < count && spans[i].bytes <= arrived; i++) {
        arrived -= spans[i].bytes;

        const struct memory_span *const span = &spans[i];
        reads->spans[reads->count++] =
            (struct recorded_span){ span->addr, (uint32_t)span->bytes };
        memcpy(reads->data + reads->bytes, span->buffer, span->bytes);
        reads->bytes += span->bytes;
    }
    return rc;
}

void recorded_reads_begin(struct recorded_reads *reads, struct memory *source)
{
    reads->memory = (struct memory){ .readv = read_recorded, .guard = source->guard };
    reads->source = source;
    reads->count = reads->bytes = 0;
}

bool recorded_reads_is_same(const struct recorded_span *spans, size_t count,
                            const unsigned char *data, remote_addr addr, uint64_t word,
                            struct memory *source)
{
    unsigned char now[RECORDED_READS_MAX_BYTES];
    struct memory_span wanted[RECORDED_READS_MAX + 1];
    uint64_t last = word;
    size_t bytes = 0, arrived;
    for (size_t i = 0; i < count; i++) {
        wanted[i] = (struct memory_span){ spans[i].addr, now + bytes, spans[i].bytes };
        bytes += spans[i].bytes;
    }
    if (addr)
        wanted[count++] = (struct memory_span){ addr, &last, sizeof last };
    return count == 0 || (!memory_readv(source, wanted, count, &arrived) &&
                          memcmp(now, data, bytes) == 0 && last == word);
}

void recorded_copy_deinit(struct recorded_copy *copy)
{
    free(copy->spans);
    free(copy->data);
    *copy = (struct recorded_copy){ 0 };
}

bool recorded_copy_take(struct recorded_copy *copy, const struct recorded_reads *reads)
{
    recorded_copy_deinit(copy);
    if (!reads->count)
        return true;
    copy->spans = malloc(reads->count * sizeof *copy->spans);
    copy->data = malloc(reads->bytes);
    if (!copy->spans || !copy->data) {
        recorded_copy_deinit(copy);
        return false;
    }
    memcpy(copy->spans, reads->spans, reads->count * sizeof *copy->spans);
    memcpy(copy->data, reads->data, reads->bytes);
    copy->count = reads->count;
    return true;
}

bool recorded_copy_is_same(const struct recorded_copy *copy, remote_addr addr, uint64_t word,
                           struct memory *source)
{
    return recorded_reads_is_same(copy->spans, copy->count, copy->data, addr, word, source);
}
