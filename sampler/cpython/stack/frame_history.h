/*
 * frame_history - which code was at which address of one thread's stack lately.
 *
 * A frame that returned between two readings may leave no trace of its code.  But programs call the
 * same functions at the same depth again and again.  So the last few frames of each address are
 * stored.
 *
 * Ownership: the caller's storage; frame_history_deinit accepts a zeroed one.
 * Limits: FRAME_HISTORY_MOST_SETS * FRAME_HISTORY_WAYS frames, the latest of each set.
 * Depends on: code, call_edges.
 */
#ifndef SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H
#define SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"

enum { FRAME_HISTORY_FEWEST_SETS = 64, FRAME_HISTORY_MOST_SETS = 4096, FRAME_HISTORY_WAYS = 4 };

struct past_frame {
    remote_addr addr; /* 0: none */
    remote_addr instr;
    remote_addr caller; /* address of its caller's frame */
    code_id code;
    bool entered_from_c;
};

struct frame_history {
    struct past_frame *items; /* sets of FRAME_HISTORY_WAYS, the latest first; NULL: none yet */
    size_t set_count;
};

void frame_history_deinit(struct frame_history *history);

void frame_history_note(struct frame_history *history, const struct past_frame *past);

/* The latest frame at addr whose code is known to call `callee` (CODE_NONE: of any code).  NULL: none. */
const struct past_frame *frame_history_find(const struct frame_history *history,
                                            const struct code_table *codes,
                                            const struct call_edges *edges, remote_addr addr,
                                            code_id callee);

#endif /* SAMPLER_CPYTHON_STACK_FRAME_HISTORY_H */
