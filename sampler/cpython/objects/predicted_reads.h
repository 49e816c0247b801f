/*
 * revisit - places of the target that are read at every look.
 *
 * Structures that are linked (lists, objects that hold one another) change little from look to look: what
 * the last look has met is read in a few calls first, and only what was not predicted by a call of its
 * own.  At the end all that was met is read again, which tells what has changed meanwhile.
 *
 *     predicted_reads_begin(r);
 *     while (...) predicted_reads_get(r, addr, bytes, &copy);
 *     predicted_reads_again(r);
 *     predicted_reads_is_same(r, addr, from, to);
 *
 * Ownership: the caller's storage; predicted_reads_deinit accepts a zeroed one.  Copies are good until the next
 * predicted_reads_begin.
 * Threads: none.
 * Limits: PREDICTED_READS_MAX places of PREDICTED_READS_MAX_BYTES in one look, then ERR_LIMIT.
 * Depends on: err, idmap, memory.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H
#define SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/process/memory.h"

enum { PREDICTED_READS_MAX = 1 << 15, PREDICTED_READS_MAX_BYTES = 256 };

struct predicted_reads_place {
    remote_addr addr;
    uint32_t bytes;
    bool is_used, has_now, has_again;
    unsigned char now[PREDICTED_READS_MAX_BYTES], again[PREDICTED_READS_MAX_BYTES];
};

struct predicted_reads {
    struct memory *memory;
    struct predicted_reads_place **places;
    size_t count, room;
    struct idmap index; /* of places by address */
};

void predicted_reads_init(struct predicted_reads *reads, struct memory *memory);
void predicted_reads_deinit(struct predicted_reads *reads);

/* Forgets what the last look did not ask for, and reads the rest. */
MUST_CHECK enum err_code predicted_reads_begin(struct predicted_reads *reads);
/* ERR_FAULT: it is not mapped. */
MUST_CHECK enum err_code predicted_reads_get(struct predicted_reads *reads, remote_addr addr,
                                             size_t bytes, const unsigned char **out);
MUST_CHECK enum err_code predicted_reads_again(struct predicted_reads *reads);
/* Were bytes `from` to `to` of that place the same both times? */
bool predicted_reads_is_same(const struct predicted_reads *reads, remote_addr addr, size_t from,
                             size_t to);

#endif /* SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H */
