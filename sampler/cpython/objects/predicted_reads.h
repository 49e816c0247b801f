/*
 * revisit - places of the target that are read at every look.
 *
 * Structures that are linked (lists, objects that hold one another) change little from look to look: what
 * the last look has met is read in a few calls first, and only what was not predicted by a call of its
 * own.  At the end all that was met is read again, which tells what has changed meanwhile.
 *
 *     revisit_begin(r);
 *     while (...) revisit_get(r, addr, bytes, &copy);
 *     revisit_again(r);
 *     revisit_is_same(r, addr, from, to);
 *
 * Ownership: the caller's storage; revisit_deinit accepts a zeroed one.  Copies are good until the next
 * revisit_begin.
 * Threads: none.
 * Limits: REVISIT_MAX places of REVISIT_MAX_BYTES in one look, then ERR_LIMIT.
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

enum { REVISIT_MAX = 1 << 15, REVISIT_MAX_BYTES = 256 };

struct revisit_place {
    remote_addr addr;
    uint32_t bytes;
    bool is_used, has_now, has_again;
    unsigned char now[REVISIT_MAX_BYTES], again[REVISIT_MAX_BYTES];
};

struct revisit {
    struct memory *memory;
    struct revisit_place **places;
    size_t count, room;
    struct idmap index; /* of places by address */
};

void revisit_init(struct revisit *revisit, struct memory *memory);
void revisit_deinit(struct revisit *revisit);

/* Forgets what the last look did not ask for, and reads the rest. */
MUST_CHECK enum err_code revisit_begin(struct revisit *revisit);
/* ERR_FAULT: it is not mapped. */
MUST_CHECK enum err_code revisit_get(struct revisit *revisit, remote_addr addr, size_t bytes,
                                     const unsigned char **out);
MUST_CHECK enum err_code revisit_again(struct revisit *revisit);
/* Were bytes `from` to `to` of that place the same both times? */
bool revisit_is_same(const struct revisit *revisit, remote_addr addr, size_t from, size_t to);

#endif /* SAMPLER_CPYTHON_OBJECTS_PREDICTED_READS_H */
