#include "sampler/kernel/copy_memory.h"

#include <string.h>

/* The span that holds these bytes, or at least the first of them if zeros follow. */
static const struct copy_span *find(struct copy_memory *copy, remote_addr addr, size_t bytes)
{
    /* Spans lie in the order in which they are read. */
    for (size_t i = 0; i < copy->count; i++) {
        const size_t at =
            copy->last + i < copy->count ? copy->last + i : copy->last + i - copy->count;
        const struct copy_span *const span = &copy->spans[at];
        const remote_addr from = addr - span->addr;
        if (from < span->bytes && (span->is_padded || bytes <= span->bytes - from)) {
            copy->last = at;
            return span;
        }
    }
    return NULL;
}

static enum err_code read_copy(struct memory *memory, const struct memory_span *spans,
                               size_t count, size_t *bytes_out)
{
    struct copy_memory *const copy = (struct copy_memory *)memory;
    for (size_t i = 0; i < count; i++) {
        const struct copy_span *const span = find(copy, spans[i].addr, spans[i].bytes);
        if (!span)
            return ERR_FAULT;
        const size_t from = (size_t)(spans[i].addr - span->addr);
        const size_t left = span->bytes - from;
        const size_t some = spans[i].bytes < left ? spans[i].bytes : left;
        memcpy(spans[i].buffer, span->data + from, some);
        memset((unsigned char *)spans[i].buffer + some, 0, spans[i].bytes - some);
        *bytes_out += spans[i].bytes;
    }
    return ERR_OK;
}

void copy_memory_init(struct copy_memory *copy)
{
    copy->memory = (struct memory){ .readv = read_copy };
    copy->count = copy->last = 0;
}

enum err_code copy_memory_show(struct copy_memory *copy, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    copy->count = copy->last = 0;
    while (bytes) {
        struct kernel_span head;
        if (bytes < sizeof head)
            return copy->count = 0, ERR_CORRUPT;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        bytes -= sizeof head;
        if (head.bytes > KERNEL_MAX_SPAN)
            return copy->count = 0, ERR_CORRUPT;
        const size_t padded = ((size_t)head.bytes + 7) / 8 * 8;
        if (padded > bytes)
            return copy->count = 0, ERR_CORRUPT;
        if (copy->count < COPY_MEMORY_MAX_SPANS)
            copy->spans[copy->count++] =
                (struct copy_span){ head.addr, head.bytes, head.is_padded, at };
        at += padded;
        bytes -= padded;
    }
    return ERR_OK;
}
