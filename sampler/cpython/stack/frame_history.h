/*
 * slots - who has lain where in one thread's stack lately.
 *
 * A frame that returned between two reads may leave nothing behind that tells what it was.  But
 * programs call the same functions at the same depth again and again: what was last seen to run
 * at its address is remembered, a few for each address.
 *
 * Ownership: the caller's storage; slots_deinit accepts a zeroed one.
 * Limits: SLOTS_MOST_SETS * SLOTS_WAYS are remembered, the latest of each set.
 * Depends on: code, links.
 */
#ifndef SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H
#define SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"

enum { SLOTS_FEWEST_SETS = 64, SLOTS_MOST_SETS = 4096, SLOTS_WAYS = 4 };

struct slot {
    remote_addr addr; /* 0: none */
    remote_addr instr;
    remote_addr caller; /* address of the frame it was called by */
    code_id code;
    bool entered_from_c;
};

struct slots {
    struct slot *items; /* sets of SLOTS_WAYS, the latest first; NULL: none yet */
    size_t set_count;
};

void slots_deinit(struct slots *slots);

void slots_note(struct slots *slots, const struct slot *slot);

/* The latest at addr that is known to call `callee`; any, if that is CODE_NONE.  NULL: none. */
const struct slot *slots_find(const struct slots *slots, const struct code_table *codes,
                              const struct links *links, remote_addr addr, code_id callee);

#endif /* SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H */
