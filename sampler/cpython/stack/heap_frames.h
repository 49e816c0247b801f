/*
 * heap_frames - the frames of one thread of CPython 3.8 to 3.10, where a frame is a heap object.
 *
 * Frames are linked by f_back, from the running one to the outermost.  Their addresses can be
 * predicted, because every code object stores a frame for its next call.  One call reads the thread
 * state, then the frames that were lately part of the stack (reading A), and the innermost of them
 * again (reading B).  The thread state names the running frame: the stack ends there, whatever has
 * been called since.  A frame that returns before it is read still has its code object and caller,
 * but is marked as not running.
 *
 * Small objects of one size lie side by side, and each span of a call costs as much as some thousand
 * bytes, so frames that lie close together are read as one range.
 *
 * A frame that has returned may be memory of something else.  If the walk meets one, the thread is read again.
 *
 * Ownership: the caller's storage; heap_frames_deinit accepts a zeroed one.  The thread state is
 * read into the caller's copy.
 * Threads: none.
 * Limits: HEAP_FRAMES_MAX frames of a stack; a deeper stack is truncated.  HEAP_FRAMES_MAX_FETCHES
 * unpredicted frames in one reading.
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
#include "sampler/cpython/stack/copy.h"
#include "sampler/cpython/stack/walk.h"
#include "sampler/process/memory.h"

enum {
    HEAP_FRAMES_MAX = 1 << 16,
    HEAP_FRAMES_MAX_FETCHES = 4096,
    HEAP_FRAMES_AGAIN = 96, /* innermost frames of the last stack that B reads */
    HEAP_FRAMES_IDLE_READINGS =
        64, /* a frame unused for this many readings is no longer read */
};

enum heap_reading { HEAP_A, HEAP_B, HEAP_LAST, HEAP_READINGS };

struct heap_frame {
    remote_addr addr;
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    uint64_t walked;    /* number of the last walk that found it */
    remote_addr caller; /* the last caller it was linked to; 0: none */
    bool has[HEAP_READINGS];
    unsigned char reading[HEAP_READINGS][LAYOUT_MAX_FRAME_BYTES];
};

/* Frames that lie close together. */
struct heap_range {
    remote_addr addr;
    size_t bytes;
    size_t first, count; /* of by_addr */
    size_t offset;       /* in bytes[] */
    size_t first_frames; /* those of the innermost frames, which are read by themselves in A */
    bool is_again;       /* part of B */
};

/* A span of the last plan, and what it reads: the thread state, one frame or a range. */
struct heap_span {
    enum { HEAP_SPAN_TSTATE, HEAP_SPAN_FRAME, HEAP_SPAN_RANGE } kind;
    uint32_t index; /* of items or ranges */
    enum heap_reading reading;
};

struct heap_frames {
    struct copy *copy; /* holds the thread state */
    struct heap_frame *items;
    size_t count, room;
    struct idmap index; /* of items by address */
    struct heap_place {
        remote_addr addr;
        uint32_t item;
    } * by_addr; /* items, sorted; up to date if there are ranges */
    size_t place_room;
    struct heap_range *ranges;
    size_t range_count, range_room; /* none: each frame is read by itself */
    size_t first_count, late_count,
        again_count;         /* spans of a reading: innermost frames; ranges in A, in B */
    unsigned char *bytes[2]; /* of the ranges, in A and B */
    size_t bytes_room[2];
    struct heap_span *planned; /* a row for each span */
    size_t planned_room;
    struct walk_frame *frames[2]; /* outermost first; of this walk, and of the previous one */
    size_t frame_count, frame_room, last_count;
    remote_addr running; /* the running frame, in the previous walk */
    uint64_t readings, walks;
    bool is_complete; /* all frames were predicted, and no code object was new */
    bool is_broken;   /* the walk from the running frame did not reach the outermost one */
};

/* From the bytes of a frame: does it run, and at which instruction is it? */
bool heap_frame_executes(const struct layout *layout, const unsigned char *bytes);
remote_addr heap_frame_instr(const struct layout *layout, const struct code *code,
                             const unsigned char *bytes);

void heap_frames_init(struct heap_frames *heap, struct copy *copy);
void heap_frames_deinit(struct heap_frames *heap);

/* As copy_plan_count and copy_plan. */
size_t heap_frames_plan_count(const struct heap_frames *heap);
size_t heap_frames_plan(struct heap_frames *heap, struct memory_span *spans);
/* As copy_settle.  ERR_GONE: the thread state no longer exists, or is another thread's. */
MUST_CHECK enum err_code heap_frames_settle(struct heap_frames *heap,
                                            const struct memory_span *spans, size_t count,
                                            size_t arrived);
/* Makes a reading, in one call for every MEMORY_MAX_SPANS spans. */
MUST_CHECK enum err_code heap_frames_read(struct heap_frames *heap);

/* Is the stack the same as in the previous walk? */
bool heap_frames_are_same(const struct heap_frames *heap);

/* Walks from the running frame to the outermost one.  The result is frames[0], frame_count; it has no
 * frames if the walk is broken. */
MUST_CHECK enum err_code heap_frames_walk(struct heap_frames *heap, struct code_table *codes);
/* The number of outermost frames that A and B confirm. */
size_t heap_frames_sure(const struct heap_frames *heap);
/* A becomes the next LAST. */
void heap_frames_accept(struct heap_frames *heap);

#endif /* SAMPLER_CPYTHON_STACK_HEAP_FRAMES_H */
