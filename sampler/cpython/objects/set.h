/*
 * set - reads set objects of the target: the addresses of their members.
 *
 * PySetObject (Include/cpython/setobject.h) holds the numbers of filled and used entries, the mask, and
 * the table of keys and hashes.
 *
 * Limits: SET_MAX_SLOTS entries of the table, used or not.  They are read in parts: no room is needed for all.
 */
#ifndef SAMPLER_CPYTHON_OBJECTS_SET_H
#define SAMPLER_CPYTHON_OBJECTS_SET_H

#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/predicted_reads.h"
#include "sampler/process/memory.h"

enum { SET_MAX_SLOTS = 1 << 23 };

/* Which members are wanted: those whose address has a hash below `below`.  found: how many there are in all. */
struct set_part {
    uint64_t secret, below, found;
};

/* The addresses in a set object, at most `room`; predicts only the object, not the table.  part NULL: all are wanted.
 * ERR_CORRUPT: not a set; ERR_LIMIT: there may be more, and *count_out of them are here. */
MUST_CHECK enum err_code set_read(struct predicted_reads *reads, const struct layout *layout,
                                  remote_addr set, struct set_part *part, remote_addr *members,
                                  size_t room, size_t *count_out);

#endif /* SAMPLER_CPYTHON_OBJECTS_SET_H */
