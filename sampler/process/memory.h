/*
 * memory - another process's memory as an interface.
 *
 * A live process, a core file, a stack that the kernel copied and the bytes of a test all implement it.  One call
 * reads several spans, in their order.
 *
 * Ownership: an implementation embeds struct memory in a struct of its own.
 * Threads: one at a time.
 * Limits: MEMORY_MAX_SPANS spans a call.
 */
#ifndef SAMPLER_PROCESS_MEMORY_H
#define SAMPLER_PROCESS_MEMORY_H

#include <stdbool.h>
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

/* Is the memory still that of the same program?  A process may execute another one at any time, whose texts may be
 * secret. */
struct memory_guard {
    bool (*holds)(void *context);
    void *context;
};

struct memory {
    /* Reads spans in order until one fails.  *bytes_out says how many bytes arrived, also on
     * failure; they are always a prefix of the spans. */
    enum err_code (*readv)(struct memory *memory, const struct memory_span *spans, size_t count,
                           size_t *bytes_out);
    const struct memory_guard *guard; /* NULL: none; a copy has that of its process */
    uint64_t reads;                   /* calls made */
    uint64_t read_bytes;              /* bytes that arrived */
};

/* ERR_OK: all bytes of all spans arrived. */
MUST_CHECK enum err_code memory_readv(struct memory *memory, const struct memory_span *spans,
                                      size_t count, size_t *bytes_out);
MUST_CHECK enum err_code memory_read(struct memory *memory, remote_addr addr, void *buffer,
                                     size_t bytes);

/* One word, in this machine's byte order. */
MUST_CHECK enum err_code memory_read_u64(struct memory *memory, remote_addr addr,
                                         uint64_t *out);

/* ERR_GONE: what has been read may be of another program.  Ask after reading what is to be kept as text. */
MUST_CHECK enum err_code memory_confirm(const struct memory *memory);

struct stored_process;

/* A live process, read with process_vm_readv, which neither writes to the process nor stops it; or a stored one. */
struct process_memory {
    struct memory memory;
    int pid;
    struct stored_process *stored; /* NULL: it is live */
};

void process_memory_init(struct process_memory *pm, int pid);

#endif /* SAMPLER_PROCESS_MEMORY_H */
