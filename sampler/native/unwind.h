/*
 * unwind - the native frames of a thread, from its registers and a copy of its C stack.
 *
 * Nothing is stopped, and no file is opened.  Rules come from the unwinding tables in the process's
 * memory (cfi) and are remembered.  Code without tables is left by what surrounds it, if that checks:
 * the call that names it, trampolines that Python generates for `-X perf`, and frame pointers.
 *
 * A gap is where no frame could be left.  Behind it the walk goes on at the next entry frame: a
 * local variable of the interpreter's evaluation function, whose distance to the end of that function's
 * frame is one constant for each build.  The walk learns it from complete stacks.
 *
 * Ownership: unwinder_init allocates, unwinder_deinit frees; the memory stays the caller's and must
 * outlive the unwinder.  The stack's bytes and the array of frames are the caller's.
 * Threads: one at a time.
 * Limits: UNWIND_MAX_SPANS spans, UNWIND_MAX_SIGNALS signal handlers in a stack; the array of frames;
 * UNWIND_BUDGET for reading tables.
 * Units: nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef SAMPLER_NATIVE_UNWIND_H
#define SAMPLER_NATIVE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/native/blocks.h"
#include "sampler/native/frame_state.h"
#include "sampler/native/images.h"
#include "sampler/native/machine/machine.h"
#include "sampler/native/rule.h"
#include "sampler/native/rule_cache.h"
#include "sampler/process/memory.h"

enum {
    UNWIND_MAX_SIGNALS = 8,
    UNWIND_BUDGET = 1 << 18, /* of blocks, for a stack: at most about 5 ms */
};

struct native_frame {
    enum native_frame_kind {
        NATIVE_CODE,
        NATIVE_GAP,   /* frames are missing here; only sp and cfa are known */
        NATIVE_ENTRY, /* the evaluation function behind a gap; pc is its start */
    } kind;
    enum native_left_by {
        NATIVE_LEFT_BY_TABLE,
        NATIVE_LEFT_BY_CALL, /* the return address is where a call leaves it */
        NATIVE_LEFT_BY_TRAMPOLINE,
        NATIVE_LEFT_TO_ENTRY,         /* its caller holds an entry frame of Python */
        NATIVE_LEFT_BY_FRAME_POINTER, /* callers that set up no frame may be missing */
        NATIVE_NOT_LEFT,              /* the walk ended here */
    } left_by;
    bool
        is_exact; /* pc is the next instruction; otherwise a return address: pc - 1 is in the call */
    uint32_t image; /* its id; 0: none */
    remote_addr pc;
    remote_addr function; /* where it starts; 0: unknown */
    remote_addr sp, cfa;  /* the frame's bytes: sp <= byte < cfa; cfa 0: unknown */
};

/* The frames of one stack, innermost first. */
struct native_walk {
    struct native_frame *frames; /* the caller's, with room for `room` frames */
    size_t room, count;
    size_t gaps;
    enum native_end end;
    enum native_end
        cause; /* of the innermost place where frames are missing; NATIVE_COMPLETE: none are */
};

/* The known facts about the evaluation function. */
struct native_anchor {
    struct rule rule;
    uint64_t distance; /* from the entry frame to the end of the function's frame */
    uint32_t image;
    remote_addr function;
    unsigned confirmations;
};

struct unwinder {
    struct images images;
    struct blocks blocks;
    struct rules rules;
    struct rule_cache cache;
    struct native_anchor anchor;
    bool is_suspect; /* the last stack may have ended because the images have changed */
    uint64_t lookups, misses; /* rules that were needed; those that were not remembered */
    uint64_t corrupt;         /* tables that make no sense, counted when they are read */
    uint64_t ends[NATIVE_ENDS_COUNT];
};

/* pid 0: the mappings come from unwinder_take_maps. */
MUST_CHECK enum err_code unwinder_init(struct unwinder *unwinder, struct memory *memory,
                                       int pid, struct err *err);
void unwinder_deinit(struct unwinder *unwinder);
/* The mappings of the process, read elsewhere. */
MUST_CHECK enum err_code unwinder_take_maps(struct unwinder *unwinder, const struct maps *maps);

/* entries: addresses of entry frames on this stack, ascending.  Sets count, gaps, end and cause of *walk. */
void unwinder_walk(struct unwinder *unwinder, const struct native_registers *registers,
                   const struct native_stack *stack, const remote_addr *entries,
                   size_t entry_count, uint64_t now_ns, struct native_walk *walk);

/* Bytes held. */
size_t unwinder_bytes(const struct unwinder *unwinder);

#endif /* SAMPLER_NATIVE_UNWIND_H */
