/*
 * predicted_reads - reads linked structures of the target again and again, in few calls.
 *
 * Linked structures (lists, objects that hold one another) change little between two readings.  So the
 * addresses that the last reading used are read first, in a few calls; an address that was not
 * predicted takes a call of its own.  At the end all used addresses are read again, to see which of
 * them have changed during the reading.
 *
 *     predicted_reads_begin(r);
 *     while (...) predicted_reads_get(r, addr, bytes, &copy);
 *     predicted_reads_again(r);
 *     predicted_reads_is_same(r, addr, from, to);
 *
 * Ownership: the caller's storage; predicted_reads_deinit accepts a zeroed one.  Copies are valid
 * until the next predicted_reads_begin.
 * Threads: none.
 * Limits: PREDICTED_READS_MAX places of PREDICTED_READS_MAX_BYTES in one reading, then ERR_LIMIT.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H
#define SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/process/memory.h"

enum { PREDICTED_READS_MAX = 1 << 18, PREDICTED_READS_MAX_BYTES = 256 };

struct predicted_reads_place {
    remote_addr addr;
    uint32_t bytes, room;
    bool is_used, has_now, has_again;
    struct predicted_reads_place *next; /* of the outgrown */
    unsigned char *again, now[];        /* `room` bytes each */
};

struct predicted_reads {
    struct memory *memory;
    struct predicted_reads_place **places;
    size_t count, room;
    struct idmap index; /* of places by address */
    /* Places that a larger one has replaced: their copies are still in use. */
    struct predicted_reads_place *outgrown;
};

void predicted_reads_init(struct predicted_reads *reads, struct memory *memory);
void predicted_reads_deinit(struct predicted_reads *reads);

/* Forgets the places that the last reading did not use, and reads the others. */
MUST_CHECK enum err_code predicted_reads_begin(struct predicted_reads *reads);
/* ERR_FAULT: addr is not mapped. */
MUST_CHECK enum err_code predicted_reads_get(struct predicted_reads *reads, remote_addr addr,
                                             size_t bytes, const unsigned char **out);
MUST_CHECK enum err_code predicted_reads_again(struct predicted_reads *reads);
/* After predicted_reads_again: were bytes `from` to `to` of the place the same both times? */
bool predicted_reads_is_same(const struct predicted_reads *reads, remote_addr addr, size_t from,
                             size_t to);

#endif /* SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H */
