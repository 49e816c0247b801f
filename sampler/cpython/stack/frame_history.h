/*
 * slots - who has lain where in one thread's stack lately.
 *
 * A frame that returned between two reads may leave nothing behind that tells what it was.  But
 * programs call the same functions at the same depth again and again: what was last seen to run
 * at its address is remembered, a few for each address.
 *
 * Ownership: the caller's storage; frame_history_deinit accepts a zeroed one.
 * Limits: FRAME_HISTORY_MOST_SETS * FRAME_HISTORY_WAYS are remembered, the latest of each set.
 * Depends on: code, links.
 */
#ifndef SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H
#define SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"

enum { FRAME_HISTORY_FEWEST_SETS = 64, FRAME_HISTORY_MOST_SETS = 4096, FRAME_HISTORY_WAYS = 4 };

struct slot {
    remote_addr addr; /* 0: none */
    remote_addr instr;
    remote_addr caller; /* address of the frame it was called by */
    code_id code;
    bool entered_from_c;
};

struct frame_history {
    struct slot *items; /* sets of FRAME_HISTORY_WAYS, the latest first; NULL: none yet */
    size_t set_count;
};

void frame_history_deinit(struct frame_history *slots);

void frame_history_note(struct frame_history *slots, const struct slot *slot);

/* The latest at addr that is known to call `callee`; any, if that is CODE_NONE.  NULL: none. */
const struct slot *frame_history_find(const struct frame_history *slots,
                                      const struct code_table *codes,
                                      const struct call_edges *links, remote_addr addr,
                                      code_id callee);

#endif /* SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H */
