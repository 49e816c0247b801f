/*
 * fake_memory - a target's memory made of bytes in the test.
 *
 * A list of regions, each at any remote address.  A read copies span by span and
 * stops at the first byte that no region holds, as process_vm_readv does: what arrived is a
 * prefix, and the answer is ERR_FAULT.  A hook is called before each span, or before each slice of
 * a span, so that a test can change the bytes between two reads, between two spans of one read, or
 * within one: that imitates a target that runs while it is read.
 *
 * Ownership: the caller's storage; the regions are copies.
 */
#ifndef TESTS_SUPPORT_FAKE_MEMORY_H
#define TESTS_SUPPORT_FAKE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/process/memory.h"

struct fake_region {
    remote_addr addr;
    size_t bytes;
    unsigned char *data;
};

struct fake_memory;

/* A position that is about to be read. */
struct fake_read_at {
    uint64_t read; /* number of the call of memory_readv, from 0 */
    size_t span;   /* of that call */
    size_t offset; /* in that span */
};

typedef void (*fake_memory_hook)(struct fake_memory *fake, const struct fake_read_at *moment,
                                 void *context);

struct fake_memory {
    struct memory memory;
    struct fake_region *regions; /* by address */
    size_t count, room;
    fake_memory_hook hook; /* NULL: the target stands still */
    void *context;
    size_t slice_bytes;    /* the hook is called again after this many; 0: once per span */
    enum err_code failure; /* result of reads from number `fail_from` on; ERR_OK: none fail */
    uint64_t fail_from;
    size_t max_span_bytes; /* the longest requested span so far */
};

void fake_memory_init(struct fake_memory *fake);
void fake_memory_deinit(struct fake_memory *fake);

/* Maps zeroed bytes; regions must not overlap.  The result is good until the next map or unmap
 * of the same region. */
unsigned char *fake_memory_map(struct fake_memory *fake, remote_addr addr, size_t bytes);
void fake_memory_unmap(struct fake_memory *fake, remote_addr addr);
bool fake_memory_is_mapped(const struct fake_memory *fake, remote_addr addr);

/* The local bytes behind a remote address; the test fails if they are not all in one region. */
unsigned char *fake_memory_at(const struct fake_memory *fake, remote_addr addr, size_t bytes);
void fake_memory_put(struct fake_memory *fake, remote_addr addr, const void *data,
                     size_t bytes);
void fake_memory_put_u64(struct fake_memory *fake, remote_addr addr, uint64_t value);
void fake_memory_put_u32(struct fake_memory *fake, remote_addr addr, uint32_t value);
void fake_memory_put_u8(struct fake_memory *fake, remote_addr addr, uint8_t value);
uint64_t fake_memory_u64(const struct fake_memory *fake, remote_addr addr);

#endif /* TESTS_SUPPORT_FAKE_MEMORY_H */
