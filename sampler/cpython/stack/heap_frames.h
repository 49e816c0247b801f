/*
 * heap_frames - the frames of one thread of CPython 3.8 to 3.10, where each is an object in the heap.
 *
 * Frames are linked by f_back, from the one that runs to the outermost.  Where they lie can be
 * predicted: every code object keeps a frame for its next call.  One call reads the thread's state,
 * then the frames that were part of its stacks lately (reading A), and those on top again (reading
 * B).  The thread's state says which frame ran at that instant; there the stack ends, whatever has
 * been called since.  A frame that has returned by the time it is read keeps its code object and
 * whom it was called by, but says that it does not run any more.
 *
 * Ownership: the caller's storage; heap_frames_deinit accepts a zeroed one.  The thread's state is
 * read into the copy that it was given.
 * Threads: none.
 * Limits: HEAP_FRAMES_MAX frames of a stack: what lies outside of them is not seen, and the stack
 * is truncated.  HEAP_FRAMES_MAX_FETCHES frames that had not been predicted in one reading.
 * Depends on: base, memory, layout, copy, code, links, walk.
 */
#ifndef SAMPLER_CPYTHON_STACK_HEAP_FRAMES_H
#define SAMPLER_CPYTHON_STACK_HEAP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/call_edges.h"
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/walk.h"
#include "sampler/process/memory.h"

enum {
    HEAP_FRAMES_MAX = 1 << 16,
    HEAP_FRAMES_MAX_FETCHES = 4096,
    HEAP_FRAMES_AGAIN = 96, /* places of B */
    HEAP_FRAMES_IDLE_READINGS =
        64, /* a frame unused for so many readings is not read any more */
};

enum heap_reading { HEAP_A, HEAP_B, HEAP_LAST, HEAP_READINGS };

struct heap_frame {
    remote_addr addr;
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    uint64_t walked;    /* number of the walk that it was last met in */
    remote_addr caller; /* last seen to be linked to, 0: never */
    bool has[HEAP_READINGS];
    unsigned char reading[HEAP_READINGS][LAYOUT_MAX_FRAME_BYTES];
};

struct heap_frames {
    struct copy *copy;        /* whose thread state it is */
    struct heap_frame *items; /* in the order in which they are read: innermost first */
    size_t count, room;
    struct idmap index;           /* of items by address */
    struct walk_frame *frames[2]; /* outermost first; of this walk, and of the one before */
    size_t frame_count, frame_room, last_count;
    remote_addr running; /* the frame that ran, of the walk before */
    uint64_t readings, walks;
    size_t planned_again; /* places of B in the plan last made */
    bool is_complete;     /* nothing had to be fetched late, and no code object was new */
    bool is_broken;       /* the way to the outermost frame was lost */
};

/* Of the bytes of a frame: does it run, and at which instruction does it stand? */
bool heap_frame_executes(const struct layout *layout, const unsigned char *bytes);
remote_addr heap_frame_instr(const struct layout *layout, const struct code *code,
                             const unsigned char *bytes);

void heap_frames_init(struct heap_frames *heap, struct copy *copy);
void heap_frames_deinit(struct heap_frames *heap);

/* What a reading consists of, as in copy.h. */
size_t heap_frames_plan_count(const struct heap_frames *heap, bool is_quick);
size_t heap_frames_plan(struct heap_frames *heap, bool is_quick, struct memory_span *spans);
/* Is told how many bytes of the plan arrived, and reads what lies behind a place that is gone.
 * ERR_GONE: the thread state is not there any more, or is another thread's. */
MUST_CHECK enum err_code heap_frames_settle(struct heap_frames *heap,
                                            const struct memory_span *spans, size_t count,
                                            size_t arrived);
/* Plans and reads, in one call or one for every MEMORY_MAX_SPANS places. */
MUST_CHECK enum err_code heap_frames_read(struct heap_frames *heap);

/* Is all of the stack as it was in the walk before? */
bool heap_frames_are_same(const struct heap_frames *heap);

/* Walks from the frame that ran to the outermost one.  The result is frames[0], frame_count. */
MUST_CHECK enum err_code heap_frames_walk(struct heap_frames *heap, struct code_table *codes,
                                          const struct call_edges *links);
/* Leading frames that A and B show to be as they are. */
size_t heap_frames_sure(const struct heap_frames *heap);
/* Does frame `index` stand where it stood, in B?  Then what it calls is called from there. */
bool heap_frames_stays(const struct heap_frames *heap, size_t index);
/* A is what LAST will be. */
void heap_frames_keep(struct heap_frames *heap);

#endif /* SAMPLER_CPYTHON_STACK_HEAP_FRAMES_H */
