/*
 * outer_parts - the outer parts of deep C stacks, which the kernel engine sends once (record.h).
 *
 * Ownership: the caller's storage; outer_part_deinit accepts a zeroed part, and comes before the end of its
 * parts.  A native copy that has been completed borrows the part's bytes until the next outer_part_learn.
 * Threads: the profile's writer.
 * Limits: OUTER_PARTS_BYTES of all threads; more are not kept, and their stacks have a gap.
 */
#ifndef SAMPLER_SESSION_KERNEL_OUTER_PARTS_H
#define SAMPLER_SESSION_KERNEL_OUTER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/process/memory.h"

struct kernel_outer_place;
struct native_copy;

enum { OUTER_PARTS_BYTES = 1 << 26 };

/* Outer parts of all threads. */
struct outer_parts {
    size_t bytes;
    bool is_missed; /* a part was not there: the engine has to send all of them again */
};

/* The outer part of one thread. */
struct outer_part {
    uint64_t ns; /* the time of its record; 0: none */
    remote_addr from;
    size_t count;
    unsigned char *bytes;
    struct outer_parts *parts; /* that it is one of, if it has bytes */
};

void outer_part_deinit(struct outer_part *part);

/* Takes the part of a record that has it. */
void outer_part_learn(struct outer_part *part, struct outer_parts *parts, uint64_t record_ns,
                      const struct kernel_outer_place *place, const struct native_copy *copy);
/* Completes the copy of a record that does not have it. */
void outer_part_complete(const struct outer_part *part, struct outer_parts *parts,
                         const struct kernel_outer_place *place, struct native_copy *copy);

#endif /* SAMPLER_SESSION_KERNEL_OUTER_PARTS_H */
