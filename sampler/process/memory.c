#define _GNU_SOURCE
#include "sampler/process/memory.h"

#include <assert.h>
#include <errno.h>
#include <sys/uio.h>

#include "sampler/process/stored_process.h"

enum err_code memory_readv(struct memory *memory, const struct memory_span *spans, size_t count,
                           size_t *bytes_out)
{
    assert(count <= MEMORY_MAX_SPANS);
    *bytes_out = 0;
    const enum err_code rc = memory->readv(memory, spans, count, bytes_out);
    memory->reads++;
    memory->read_bytes += *bytes_out;
    return rc;
}

enum err_code memory_read(struct memory *memory, remote_addr addr, void *buffer, size_t bytes)
{
    const struct memory_span span = { addr, buffer, bytes };
    size_t arrived;
    return memory_readv(memory, &span, 1, &arrived);
}

enum err_code memory_read_u64(struct memory *memory, remote_addr addr, uint64_t *out)
{
    uint64_t value;
    const enum err_code rc = memory_read(memory, addr, &value, sizeof value);
    if (!rc)
        *out = value;
    return rc;
}

enum err_code memory_confirm(const struct memory *memory)
{
    const struct memory_guard *const guard = memory->guard;
    return !guard || guard->holds(guard->context) ? ERR_OK : ERR_GONE;
}

static enum err_code read_process(struct memory *memory, const struct memory_span *spans,
                                  size_t count, size_t *bytes_out)
{
    const struct process_memory *const pm = (const struct process_memory *)memory;
    struct iovec local[MEMORY_MAX_SPANS], remote[MEMORY_MAX_SPANS];
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++) {
        local[i] = (struct iovec){ spans[i].buffer, spans[i].bytes };
        /* Here alone a remote address becomes a pointer, and only the kernel follows it. */
        remote[i] = (struct iovec){ (void *)(uintptr_t)spans[i].addr, spans[i].bytes };
        wanted += spans[i].bytes;
    }
    const ssize_t n = process_vm_readv(pm->pid, local, count, remote, count, 0);
    if (n < 0)
        return err_code_of_errno(errno);
    *bytes_out = (size_t)n;
    return (size_t)n == wanted ? ERR_OK : ERR_FAULT;
}

static enum err_code read_stored(struct memory *memory, const struct memory_span *spans,
                                 size_t count, size_t *bytes_out)
{
    struct stored_process *const stored = ((const struct process_memory *)memory)->stored;
    return stored->readv(stored, spans, count, bytes_out);
}

void process_memory_init(struct process_memory *pm, int pid)
{
    struct stored_process *const stored = stored_process_find(pid);
    *pm = (struct process_memory){ .memory = { .readv = stored ? read_stored : read_process },
                                   .pid = pid,
                                   .stored = stored };
}
