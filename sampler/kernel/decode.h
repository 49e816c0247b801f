/*
 * decode - a record as the ring buffer holds it, checked.
 *
 * Depends on: record.
 */
#ifndef SAMPLER_KERNEL_DECODE_H
#define SAMPLER_KERNEL_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/kernel/record.h"

/* `bytes` bytes at `data` as a record and its spans, which copy_memory checks.  false: they are damaged,
 * and nothing is said of them. */
bool kernel_decode(const void *data, size_t bytes, struct kernel_record *record,
                   const void **spans);

#endif /* SAMPLER_KERNEL_DECODE_H */
