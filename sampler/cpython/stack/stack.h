/*
 * stack - the Python stack of one thread at one instant, and how certain it is.
 *
 * The instant is the reading of the thread state, which names the running frame.  The frames are read right after it.  At the
 * first frame that has returned meanwhile, or has gone on since its callee was read, the stack is truncated, and the sample says
 * so; then the thread is read once more.  The stack of a thread that cannot move, because it is stopped or copied, is always exact.
 *
 * A thread that has not moved for a while gets a quick check: one reading, compared with the last one.
 * A frame that has not moved keeps its code object alive, so nothing else is checked.  After
 * STACK_QUICK_CHECKS_IN_A_ROW quick checks the thread is read in full again.
 *
 * Ownership: the caller's storage; stack_deinit accepts a zeroed one.
 * Threads: none.
 */
#ifndef SAMPLER_CPYTHON_STACK_STACK_H
#define SAMPLER_CPYTHON_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/heap_frames.h"
#include "sampler/cpython/stack/walk.h"

enum { STACK_STILL_READINGS = 2, STACK_QUICK_CHECKS_IN_A_ROW = 63 };

enum stack_certainty {
    STACK_EXACT,     /* no frame has moved, as far as frames show */
    STACK_RETRIED,   /* exact, after another reading */
    STACK_TRUNCATED, /* cut at a frame that is not certain */
};

struct stack_reader;

struct stack {
    const struct stack_reader *reader; /* of frames in chunks, or in the heap */
    struct copy copy;
    struct walk walk;
    struct heap_frames heap;   /* until 3.10, instead of the walk */
    struct walk_frame *frames; /* outermost first; the walk's */
    size_t count;              /* 0: the thread runs no Python code */
    enum stack_certainty certainty;
    remote_addr running;    /* the running frame */
    bool is_unchanged;      /* the same as in the previous reading */
    uint32_t still;         /* readings in a row that found it unchanged */
    uint32_t tag;           /* for the caller; 0 when anything changed */
    uint32_t native_tag;    /* the same */
    bool is_placed;         /* for the caller; false when the stack was forgotten */
    uint64_t generation;    /* of the code objects when they were last checked */
    uint64_t stale;         /* code objects that had been replaced by then */
    size_t checked;         /* outermost frames whose code has been checked */
    uint64_t planned_reads; /* of the memory, when a planned reading had arrived */
};

void stack_init(struct stack *stack, struct memory *memory, const struct layout *layout,
                remote_addr tstate_addr, remote_addr generation_addr);
void stack_deinit(struct stack *stack);

/* ERR_GONE: the thread (or the process) ended.  ERR_FAULT, ERR_CORRUPT: this sample failed. */
MUST_CHECK enum err_code stack_read(struct stack *stack, struct code_table *codes);

/* Functions for a caller that reads many threads in one call. stack_plan fills at most
 * stack_plan_count spans and returns their number. The caller reads them, and then begins an
 * epoch of the code table: a code object that one of the stacks has checked since is not
 * checked again for the others. stack_finish takes the number of bytes that arrived, and reads
 * again if it must. */
size_t stack_plan_count(const struct stack *stack);
size_t stack_plan(struct stack *stack, struct memory_span *spans);
MUST_CHECK enum err_code stack_finish(struct stack *stack, struct code_table *codes,
                                      const struct memory_span *spans, size_t count,
                                      size_t arrived);

#endif /* SAMPLER_CPYTHON_STACK_STACK_H */
