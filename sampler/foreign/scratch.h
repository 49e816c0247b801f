/*
 * scratch - a file without a name for what is too large for memory: on a disk where one may be created, else in memory.
 *
 * Ownership: the caller's storage; scratch_close accepts a zeroed one.
 * Threads: one.
 * Limits: SCRATCH_DISK_BYTES on a disk, SCRATCH_MEMORY_BYTES in memory, then ERR_LIMIT.
 */
#ifndef SAMPLER_FOREIGN_SCRATCH_H
#define SAMPLER_FOREIGN_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

#define SCRATCH_DISK_BYTES   ((uint64_t)16 << 30)
#define SCRATCH_MEMORY_BYTES ((uint64_t)512 << 20)

struct scratch {
    int fd;
    uint64_t bytes, most;
};

MUST_CHECK enum err_code scratch_open(struct scratch *scratch, struct err *err);
void scratch_close(struct scratch *scratch);
/* Appends. */
MUST_CHECK enum err_code scratch_write(struct scratch *scratch, const void *data, size_t bytes,
                                       struct err *err);
MUST_CHECK enum err_code scratch_read(const struct scratch *scratch, uint64_t at, void *out,
                                      size_t bytes, struct err *err);

#endif /* SAMPLER_FOREIGN_SCRATCH_H */
