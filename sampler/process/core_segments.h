/*
 * core_segments - the header of a core file: which memory the file has, and where; its notes are read with it.
 *
 * Ownership: the caller's storage; core_segments_deinit accepts a zeroed one.  The descriptor stays the caller's.
 * Threads: none while it is read, then any.
 * Limits: CORE_MAX_SEGMENTS, then ERR_LIMIT.
 */
#ifndef SAMPLER_PROCESS_CORE_SEGMENTS_H
#define SAMPLER_PROCESS_CORE_SEGMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/process/core_notes.h"
#include "sampler/process/memory.h"

enum { CORE_MAX_SEGMENTS = 1 << 17 };

/* Memory that the core has, or lacks in whole or from `file_bytes` on. */
struct core_segment {
    remote_addr start, end;
    uint64_t file_offset, file_bytes;
    uint32_t flags; /* PF_R, ... */
};

struct core_segments {
    int fd;
    uint64_t bytes;             /* of the file */
    uint64_t cut_bytes;         /* that are missing at its end */
    struct core_segment *items; /* by address */
    size_t count;
};

/* name: for messages.  ERR_INVALID: no core file of this machine; ERR_CORRUPT: it lists no threads. */
MUST_CHECK enum err_code core_segments_read(struct core_segments *segments,
                                            struct core_notes *notes, int fd, const char *name,
                                            struct err *err);
void core_segments_deinit(struct core_segments *segments);

/* NULL: none holds addr. */
const struct core_segment *core_segments_find(const struct core_segments *segments,
                                              remote_addr addr);
/* Reads what the core itself has from addr on, at most `bytes`; returns how many there are. */
size_t core_segments_copy(const struct core_segments *segments, remote_addr addr, void *out,
                          size_t bytes);

#endif /* SAMPLER_PROCESS_CORE_SEGMENTS_H */
