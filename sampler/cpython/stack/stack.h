/*
 * stack - the Python stack of one thread at one instant, and how sure that is.
 *
 * The instant is when the thread state was read: it says which frame ran.  Frames are read right
 * after it, twice (see copy).  What both readings show was so all the while: exact.  Where they
 * differ, or a frame has returned meanwhile, each link from caller to callee is believed only if
 * it has been seen for certain before; where it has not, the stack is cut and the sample says so.
 *
 * A thread that has not moved for a while is only glanced at: one reading, compared with the
 * last.  A frame that lies where it lay keeps its code object alive, so nothing else is checked;
 * every STACK_GLANCES_IN_A_ROW glances it is read in full again.
 *
 * Ownership: the caller's storage; stack_deinit accepts a zeroed one.
 * Threads: none.
 * Depends on: copy, walk, code, links.
 */
#ifndef SAMPLER_CPYTHON_STACK_STACK_H
#define SAMPLER_CPYTHON_STACK_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/heap_frames.h"
#include "sampler/cpython/stack/walk.h"

enum { STACK_STILL_READINGS = 2, STACK_GLANCES_IN_A_ROW = 63 };

enum stack_certainty {
    STACK_EXACT,     /* both readings agree */
    STACK_REPAIRED,  /* the readings differ, but all of its links are known */
    STACK_RETRIED,   /* exact, after predictions had been wrong */
    STACK_TRUNCATED, /* cut at a link that could not be confirmed */
};

struct stack {
    struct copy copy;
    struct walk walk;
    struct heap_frames heap; /* instead of the walk, until 3.10 */
    struct frame_history slots, runners;
    struct walk_frame *frames; /* outermost first; the walk's */
    size_t count;              /* 0: no Python code runs in this thread */
    enum stack_certainty certainty;
    remote_addr running; /* the frame that ran */
    bool is_unchanged;   /* all of it is as it was in the reading before */
    uint32_t still;      /* readings in a row that found it unchanged */
    uint32_t tag;        /* for the caller; 0 when anything changed */
    uint64_t generation; /* of the code objects when they were last checked */
    size_t remembered;   /* leading frames whose links are known */
    size_t checked;      /* leading frames whose code has been checked */
};

void stack_init(struct stack *stack, struct memory *memory, const struct layout *layout,
                remote_addr tstate_addr, remote_addr generation_addr);
void stack_deinit(struct stack *stack);

/* ERR_GONE: the thread (or the process) ended.  ERR_FAULT, ERR_CORRUPT: this sample failed. */
MUST_CHECK enum err_code stack_read(struct stack *stack, struct code_table *codes,
                                    struct call_edges *links);

/* The same for a caller that reads many threads in one call: stack_plan fills at most
 * stack_plan_count places and says how many, the caller reads them, and stack_finish is told how many bytes of them
 * arrived; it reads again whatever it must. */
size_t stack_plan_count(const struct stack *stack);
size_t stack_plan(struct stack *stack, struct memory_span *spans);
MUST_CHECK enum err_code stack_finish(struct stack *stack, struct code_table *codes,
                                      struct call_edges *links, const struct memory_span *spans,
                                      size_t count, size_t arrived);

#endif /* SAMPLER_CPYTHON_STACK_STACK_H */
