/*
 * recorded_reads - memory that remembers what was read through it, so that one call shows later whether all of
 * it is still the same.
 *
 * What a chain of objects says is a function of the bytes that were read on the way.  While these are the same at
 * the same addresses, so is the answer.
 *
 *     recorded_reads_begin(r);
 *     ... reads through r->memory ...
 *     recorded_reads_is_same(r->spans, r->count, r->data, 0, 0, source)
 *
 * A recorded_copy keeps what was read for later.
 *
 * Ownership: the caller's storage; it holds nothing else.  recorded_copy_deinit accepts a zeroed copy.
 * Threads: none.
 * Limits: RECORDED_READS_MAX reads of RECORDED_READS_MAX_BYTES together, then ERR_LIMIT.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_RECORDED_READS_H
#define SAMPLER_CPYTHON_OBJECTS_RECORDED_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/process/memory.h"

enum { RECORDED_READS_MAX = 128, RECORDED_READS_MAX_BYTES = 1 << 13 };

struct recorded_span {
    remote_addr addr;
    uint32_t bytes; /* RECORDED_READS_MAX_BYTES or less */
};

struct recorded_reads {
    struct memory memory;
    struct memory *source;
    size_t count, bytes;
    struct recorded_span spans[RECORDED_READS_MAX];
    unsigned char data[RECORDED_READS_MAX_BYTES]; /* of all spans, one after the other */
};

/* Forgets what was read; from now on reads from `source`. */
void recorded_reads_begin(struct recorded_reads *reads, struct memory *source);

/* Are all bytes still the same, and does this word have its value?  Makes one call.  addr 0: there is no such word. */
bool recorded_reads_is_same(const struct recorded_span *spans, size_t count,
                            const unsigned char *data, remote_addr addr, uint64_t word,
                            struct memory *source);

struct recorded_copy {
    struct recorded_span *spans;
    unsigned char *data;
    size_t count;
};

/* Takes the place of what was in the copy.  false: out of memory; the copy is empty. */
bool recorded_copy_take(struct recorded_copy *copy, const struct recorded_reads *reads);
void recorded_copy_deinit(struct recorded_copy *copy);
/* As recorded_reads_is_same. */
bool recorded_copy_is_same(const struct recorded_copy *copy, remote_addr addr, uint64_t word,
                           struct memory *source);

#endif /* SAMPLER_CPYTHON_OBJECTS_RECORDED_READS_H */
