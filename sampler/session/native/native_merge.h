/*
 * native_merge - one list of frames from the Python frames and the native frames of a thread.
 *
 * A run is the Python frames that one call of the interpreter's evaluation function executes.  It stands
 * right below the native frame of that call:
 *     3.11 and later  the frame that holds the run's entry, a local variable of the function
 *     until 3.10      each Python frame is a run, and has no entry.  The runs and the calls are paired from
 *                     the outermost on, if there is a call for each run; one more, the innermost, is
 *                     in its prologue or epilogue.  Of a stack that is not whole only the native
 *                     frames up to the innermost call are shown
 * If that does not come out even, it is a mismatch: the list has the Python frames, and then, separately,
 * the native ones.
 *
 * Where native frames are missing there is a gap.  A run whose call is in a gap stands between two.
 * Trampolines of `-X perf` are left out: each is the Python frame that it calls.
 *
 * A library that gives each coroutine a part of the C stack (greenlet) switches the C stack and the Python frames one
 * after the other, and unlinks the entries before (3.12 and later).  While it does, the native frames are those of
 * one coroutine, or half copied, and the Python frames are those of another.  So they are not merged: the list has the
 * Python frames, a gap, and the native frames up to the innermost one of that library, which are certain.
 *
 * Ownership: the caller's storage; native_merge_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: those of the walks.
 */
#ifndef SAMPLER_SESSION_NATIVE_NATIVE_MERGE_H
#define SAMPLER_SESSION_NATIVE_NATIVE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/err.h"
#include "sampler/base/three_valued.h"
#include "sampler/native/unwind.h"

struct native_run {
    remote_addr entry; /* 0: none */
    size_t count;      /* of frames; 0: it has none yet, or no more */
    size_t empty;      /* runs without frames right outside of this one */
};

/* Outermost first. */
struct native_runs {
    const struct native_run *items;
    size_t count;
    bool has_entries;
};

struct merged_frame {
    enum merged_kind {
        MERGED_PYTHON,
        MERGED_NATIVE,
        MERGED_GAP,
        MERGED_SEPARATE, /* a mismatch: what follows stands beside what is before it */
    } kind;
    size_t index; /* of the Python frames, outermost first; or of the walk's frames */
};

/* The role of a native frame's code in the merge. */
enum native_role {
    NATIVE_ROLE_NONE,
    NATIVE_ROLE_EVALUATION, /* the interpreter's evaluation function */
    NATIVE_ROLE_SWITCHER,   /* of a library that switches C stacks */
    NATIVE_ROLE_SWITCH,     /* the same: what switches them, or may do so */
    NATIVE_ROLE_INSTRUCTION, /* of the interpreter: executes an instruction, and ends in a jump to the next one */
    NATIVE_ROLE_JIT_ENTRY, /* of the interpreter: calls code of the JIT */
    NATIVE_ROLE_GENERATED, /* made at run time, without a name: if the evaluation function calls it, CPython's JIT made it */
};

struct native_merge {
    struct merged_frame *frames; /* outermost first */
    size_t count, room;
    bool is_mismatch;
    bool is_switch; /* the sample met a switch from one C stack to another */
    bool has_gaps;
    enum three_valued
        in_jit;     /* does code of CPython's JIT execute the innermost Python frame? */
    size_t placed;  /* runs that stand below the native frame of their call */
    size_t *places; /* scratch: the native frame of each run */
    size_t place_room;
};

/* roles: of each frame of the walk.  With entries, the evaluation function is known from them too.  ERR_NOMEM. */
MUST_CHECK enum err_code native_merge(struct native_merge *merge, struct native_runs runs,
                                      const struct native_walk *walk,
                                      const enum native_role *roles);
void native_merge_deinit(struct native_merge *merge);

#endif /* SAMPLER_SESSION_NATIVE_NATIVE_MERGE_H */
