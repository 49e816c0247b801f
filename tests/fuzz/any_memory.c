#include "tests/fuzz/any_memory.h"

#include <string.h>

enum { MAX_READS = 2000, MAX_BYTES = 4 << 20, MAX_SPAN_BYTES = 1 << 18 };

static void copy_out(const struct any_memory *any, const struct memory_span *span)
{
    size_t done = 0;
    while (done < span->bytes) {
        const size_t at = (size_t)((span->addr + done) % any->size);
        const size_t left = span->bytes - done, there = any->size - at;
        const size_t bytes = left < there ? left : there;
        memcpy((unsigned char *)span->buffer + done, any->data + at, bytes);
        done += bytes;
    }
}

static enum err_code read_any(struct memory *memory, const struct memory_span *spans,
                              size_t count, size_t *bytes_out)
{
    const struct any_memory *const any = (const struct any_memory *)memory;
    *bytes_out = 0;
    if (memory->reads >= MAX_READS || memory->read_bytes >= MAX_BYTES)
        return ERR_GONE;
    for (size_t i = 0; i < count; i++) {
        /* Page zero is never mapped, and no mapping is very large. */
        if (spans[i].addr < 4096 || spans[i].bytes > MAX_SPAN_BYTES)
            return ERR_FAULT;
        copy_out(any, &spans[i]);
        *bytes_out += spans[i].bytes;
    }
    return ERR_OK;
}

void any_memory_init(struct any_memory *any, const uint8_t *data, size_t size)
{
    *any = (struct any_memory){ .memory = { .readv = read_any }, .data = data, .size = size };
}
