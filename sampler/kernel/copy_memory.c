#include "sampler/kernel/copy_memory.h"

#include <stdlib.h>
#include <string.h>

static bool span_holds(const struct copy_span *span, remote_addr addr, size_t bytes)
{
    const remote_addr from = addr - span->addr;
    return from < span->bytes && (span->is_padded || bytes <= span->bytes - from);
}

static int by_addr(const void *a, const void *b)
{
    const struct copy_span *const one = *(const struct copy_span *const *)a;
    const struct copy_span *const other = *(const struct copy_span *const *)b;
    return (one->addr > other->addr) - (one->addr < other->addr);
}

/* The span that holds these bytes, or at least the first of them if zeros follow. */
static const struct copy_span *find_span(struct copy_memory *copy, remote_addr addr,
                                         size_t bytes)
{
    enum { NEAR = 3, OVERLAPPING = 4 };
    size_t low = 0, high = copy->count;
    /* Spans lie in the order in which they are read. */
    for (size_t i = copy->last; i < copy->count && i < copy->last + NEAR; i++)
        if (span_holds(&copy->spans[i], addr, bytes)) {
            copy->last = i;
            return &copy->spans[i];
        }
    if (!copy->is_sorted) {
        for (size_t i = 0; i < copy->count; i++)
            copy->sorted[i] = &copy->spans[i];
        qsort(copy->sorted, copy->count, sizeof copy->sorted[0], by_addr);
        copy->is_sorted = true;
    }
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (copy->sorted[middle]->addr <= addr)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i-- > 0 && i + OVERLAPPING >= low;)
        if (span_holds(copy->sorted[i], addr, bytes)) {
            copy->last = (size_t)(copy->sorted[i] - copy->spans);
            return copy->sorted[i];
        }
    return NULL;
}

static void read_span(const struct copy_span *span, const struct memory_span *wanted)
{
    const size_t from = (size_t)(wanted->addr - span->addr);
    const size_t left = span->bytes - from;
    const size_t some = wanted->bytes < left ? wanted->bytes : left;
    memcpy(wanted->buffer, span->data + from, some);
    memset((unsigned char *)wanted->buffer + some, 0, wanted->bytes - some);
}

static bool read_copied(struct copy_memory *copy, const struct memory_span *wanted)
{
    const struct copy_span *const span = find_span(copy, wanted->addr, wanted->bytes);
    if (!span) {
        /* A chunk may be in two spans that touch: the upper one holds what follows. */
        const struct copy_span *const lower = find_span(copy, wanted->addr, 1);
        const size_t some = lower ? lower->bytes - (size_t)(wanted->addr - lower->addr) : 0;
        if (!lower || some >= wanted->bytes)
            return false;
        const struct memory_span rest = { wanted->addr + some,
                                          (unsigned char *)wanted->buffer + some,
                                          wanted->bytes - some };
        const struct copy_span *const upper = find_span(copy, rest.addr, rest.bytes);
        if (!upper)
            return false;
        memcpy(wanted->buffer, lower->data + (wanted->addr - lower->addr), some);
        read_span(upper, &rest);
        return true;
    }
    read_span(span, wanted);
    return true;
}

static enum err_code read_copy(struct memory *memory, const struct memory_span *spans,
                               size_t count, size_t *bytes_out)
{
    struct copy_memory *const copy = (struct copy_memory *)memory;
    for (size_t i = 0; i < count; i++) {
        const size_t first = i;
        bool is_copied = false;
        while (i < count && !(is_copied = read_copied(copy, &spans[i])))
            i++;
        if (i > first) {
            size_t arrived = 0;
            if (!copy->process)
                return ERR_FAULT;
            copy->process_reads++;
            const enum err_code rc =
                memory_readv(copy->process, spans + first, i - first, &arrived);
            *bytes_out += arrived;
            if (rc)
                return rc;
        }
        if (is_copied)
            *bytes_out += spans[i].bytes;
    }
    return ERR_OK;
}

void copy_memory_init(struct copy_memory *copy)
{
    copy->memory = (struct memory){ .readv = read_copy };
    copy->count = copy->last = 0;
    copy->process = NULL;
    copy->tail_ns = 0;
    copy->is_sorted = false;
}

enum err_code copy_memory_show(struct copy_memory *copy, const void *data, size_t bytes)
{
    copy->count = copy->last = 0;
    copy->process = NULL;
    copy->process_reads = copy->tail_ns = 0;
    return copy_memory_show_more(copy, data, bytes);
}

enum err_code copy_memory_show_more(struct copy_memory *copy, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    copy->is_sorted = false;
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

void copy_memory_name_tail(struct copy_memory *copy, uint64_t tail_ns, remote_addr from)
{
    copy->tail_ns = tail_ns;
    copy->tail_from = from;
}

void copy_memory_complete(struct copy_memory *copy, struct memory *process)
{
    copy->process = process;
}
