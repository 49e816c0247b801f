/*
 * copy_memory - the memory that a record of the kernel engine holds, as an interface.
 *
 * A read must be inside one of the record's spans.  The program copies only the used part of a
 * data-stack chunk; the rest of it reads as zeros.
 *
 * Ownership: the caller's storage; borrows the record.
 * Limits: COPY_MEMORY_MAX_SPANS; later spans of a record cannot be read.
 * Depends on: memory, record.
 */
#ifndef SAMPLER_KERNEL_COPY_MEMORY_H
#define SAMPLER_KERNEL_COPY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/kernel/record.h"
#include "sampler/process/memory.h"

enum { COPY_MEMORY_MAX_SPANS = KERNEL_MAX_FRAMES + 8 };

struct copy_memory {
    struct memory memory;
    size_t count, last; /* spans; the one last read */
    struct copy_span {
        remote_addr addr;
        size_t bytes;
        bool is_padded;
        const unsigned char *data;
    } spans[COPY_MEMORY_MAX_SPANS];
};

void copy_memory_init(struct copy_memory *copy);

/* Shows the spans of a record, `bytes` bytes at `data`.  ERR_CORRUPT: they are not whole spans; then
 * nothing is shown. */
MUST_CHECK enum err_code copy_memory_show(struct copy_memory *copy, const void *data,
                                          size_t bytes);

#endif /* SAMPLER_KERNEL_COPY_MEMORY_H */
