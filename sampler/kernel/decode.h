/*
 * decode - a record as the ring buffer holds it, checked.
 */
#ifndef SAMPLER_KERNEL_DECODE_H
#define SAMPLER_KERNEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/kernel/record.h"

struct native_copy;

/* The beginning of the outer part of a deep stack, 0: it has none of its own; and the time of
 * the record that has it, 0: this one. */
struct kernel_outer_place {
    uint64_t from, ns;
};

/* `bytes` bytes at `data` as a record and its spans, which copy_memory checks, and its native part behind
 * them.  false: they are damaged, and nothing is said of them. */
bool kernel_decode(const void *data, size_t bytes, struct kernel_record *record,
                   const void **spans);

/* The native part of such a record: *out points into it, and lacks an outer part that is another record's.  false:
 * there is none, or it is damaged. */
bool kernel_decode_native(const struct kernel_record *record, const void *spans,
                          struct native_copy *out, struct kernel_outer_place *outer_out);

#endif /* SAMPLER_KERNEL_DECODE_H */
