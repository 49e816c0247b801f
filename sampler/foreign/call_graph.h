/*
 * call_graph - functions, their times, and which of them called which, made into stacks.
 *
 *     call_graph_function, call_graph_call ...   in any order
 *     call_graph_gather                          the stacks
 *
 * Stacks are an estimate, as a call graph has none: where a function was called from several places, the time of what it called is
 * divided among these as the time of the function itself is.  The own time of each function is kept exactly, and its parts are
 * those of its direct callers.  A function that is called again below itself ends the stack there.
 *
 * Ownership: the caller's storage; call_graph_deinit accepts a zeroed one, and a zeroed one is empty.
 * Threads: one.
 * Limits: CALL_GRAPH_MAX_CALLS, then ERR_LIMIT.  Beyond CALL_GRAPH_MAX_STACKS stacks, and for those of less than a hundred
 * thousandth of all time, a function is shown below only some of its callers' callers.
 */
#ifndef SAMPLER_FOREIGN_CALL_GRAPH_H
#define SAMPLER_FOREIGN_CALL_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/foreign/gather.h"

enum { CALL_GRAPH_MAX_CALLS = 1 << 21, CALL_GRAPH_MAX_STACKS = 1 << 14 };

/* In seconds; below 0: 0. */
struct call_times {
    double calls, self, total;
};

struct call_graph {
    struct call_graph_function *functions; /* by their frames */
    struct call_graph_call *calls;
    struct call_graph_stack *stacks;
    size_t function_count, function_room, call_count, call_room, stack_count, stack_room;
    size_t parts, steps; /* calls below stacks; steps taken up stacks */
};

void call_graph_deinit(struct call_graph *graph);
/* A function that is given twice has its last times. */
MUST_CHECK enum err_code call_graph_function(struct call_graph *graph, frame_id function,
                                             struct call_times times, struct err *err);
/* times: those of the callee while this caller had called it. */
MUST_CHECK enum err_code call_graph_call(struct call_graph *graph, frame_id caller,
                                         frame_id callee, struct call_times times,
                                         struct err *err);
MUST_CHECK enum err_code call_graph_gather(struct call_graph *graph, struct gather *gather,
                                           thread_id thread, struct err *err);

#endif /* SAMPLER_FOREIGN_CALL_GRAPH_H */
