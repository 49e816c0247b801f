/*
 * copy_memory - the memory that a record of the kernel engine holds, as an interface.
 *
 * A read must be inside one of the record's spans, or inside two that touch.  The program copies only the used part of a
 * data-stack chunk; the rest of it reads as zeros.  Of a stack that is too large for a record, it
 * copies the innermost part.  The outermost part seldom changes, so it may be read from the process.
 *
 * Ownership: the caller's storage; borrows the record.
 * Limits: COPY_MEMORY_MAX_SPANS; later spans of a record cannot be read.
 */
#ifndef SAMPLER_KERNEL_COPY_MEMORY_H
#define SAMPLER_KERNEL_COPY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/kernel/record.h"
#include "sampler/process/memory.h"

/* Spans of frames; windows, and what leads to the value of a ContextVar. */
enum { COPY_MEMORY_MAX_SPANS = KERNEL_MAX_FRAMES + 256 };

struct copy_memory {
    struct memory memory;
    struct memory *process; /* NULL: what was not copied is not there */
    uint64_t process_reads; /* since the record was shown */
    size_t count, last;     /* spans; the one last read */
    uint64_t tail_ns;       /* 0: none is known */
    remote_addr tail_from;
    struct copy_span {
        remote_addr addr;
        size_t bytes;
        bool is_padded;
        const unsigned char *data;
    } spans[COPY_MEMORY_MAX_SPANS];
    const struct copy_span *sorted[COPY_MEMORY_MAX_SPANS]; /* by address, once needed */
    bool is_sorted;
};

void copy_memory_init(struct copy_memory *copy);

/* Shows the spans of a record, `bytes` bytes at `data`.  ERR_CORRUPT: they are not whole spans; then
 * nothing is shown. */
MUST_CHECK enum err_code copy_memory_show(struct copy_memory *copy, const void *data,
                                          size_t bytes);
/* Shows these spans too. */
MUST_CHECK enum err_code copy_memory_show_more(struct copy_memory *copy, const void *data,
                                               size_t bytes);
/* Names the tail of the stack that is shown (record.h), which begins at `from`. */
void copy_memory_name_tail(struct copy_memory *copy, uint64_t tail_ns, remote_addr from);
/* From now on, until another record is shown, what was not copied is read from the process. */
void copy_memory_complete(struct copy_memory *copy, struct memory *process);

#endif /* SAMPLER_KERNEL_COPY_MEMORY_H */
