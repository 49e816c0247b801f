/*
 * decode - a record as the ring buffer holds it, checked.
 *
 * Depends on: record, native_copy.
 */
#ifndef SAMPLER_KERNEL_DECODE_H
#define SAMPLER_KERNEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/kernel/record.h"

struct native_copy;

/* `bytes` bytes at `data` as a record and its spans, which copy_memory checks, and its native part behind
 * them.  false: they are damaged, and nothing is said of them. */
bool kernel_decode(const void *data, size_t bytes, struct kernel_record *record,
                   const void **spans);

/* The native part of such a record: *out points into it.  false: there is none, or it is damaged. */
bool kernel_decode_native(const struct kernel_record *record, const void *spans,
                          struct native_copy *out);

#endif /* SAMPLER_KERNEL_DECODE_H */
