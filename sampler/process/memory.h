/*
 * memory - another process's memory as an interface.
 *
 * A live process, a core file and bytes in a test are the same thing to whoever reads.  A read
 * names several places at once and is one call: places are read in order, so what stands first
 * was read first.
 *
 * Ownership: the caller embeds struct memory in its own and passes that.
 * Threads: one at a time.
 * Limits: MEMORY_MAX_SPANS places a call.
 * Depends on: err.
 */
#ifndef SAMPLER_PROCESS_MEMORY_H
#define SAMPLER_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

typedef uint64_t remote_addr;

enum { MEMORY_MAX_SPANS = 1024 };

struct memory_span {
    remote_addr addr;
    void *buffer;
    size_t bytes;
};

struct memory {
    /* Reads spans in order until one fails.  *bytes_out says how much arrived, also on failure;
     * what arrived is always a prefix of the spans. */
    enum err_code (*readv)(struct memory *memory, const struct memory_span *spans, size_t count,
                           size_t *bytes_out);
    uint64_t reads;      /* calls made */
    uint64_t read_bytes; /* bytes that arrived */
};

/* ERR_OK only if everything arrived. */
MUST_CHECK enum err_code memory_readv(struct memory *memory, const struct memory_span *spans,
                                      size_t count, size_t *bytes_out);
MUST_CHECK enum err_code memory_read(struct memory *memory, remote_addr addr, void *buffer,
                                     size_t bytes);

/* One little- or big-endian word as the target stores it. */
MUST_CHECK enum err_code memory_read_u64(struct memory *memory, remote_addr addr,
                                         uint64_t *out);

/* A live process, read with process_vm_readv: nothing is written, nothing is stopped. */
struct process_memory {
    struct memory memory;
    int pid;
};

void process_memory_init(struct process_memory *pm, int pid);

#endif /* SAMPLER_PROCESS_MEMORY_H */
