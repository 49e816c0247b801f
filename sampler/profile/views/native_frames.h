/*
 * native_frames - which native frames of a stack a view shows.
 *
 *     hidden      none: their samples are those of the Python frame that called them
 *     leaf        of the native frames below the innermost Python frame the innermost one that is not
 *                 of the interpreter, and no gap; if there is one, one with a name that is not of the C
 *                 library, which works for others; those between Python frames are left out
 *                 and below that the first frame of the kernel: the system call
 *     library     as all, but neighbours of one library are one frame, which has its name
 *     all         all but those of the interpreter itself
 *     everything  all
 *
 * A stack without a Python frame has no caller that could stand for it: hidden drops its samples,
 * everything else shows all of it, including frames of the interpreter.  A mark such as <GC> stays where
 * it is, and counts as a Python frame for what is below it.
 *
 * Samples of a native frame and Python code that it called may need different stacks: leaf leaves out
 * a frame between Python frames that it shows where it is the last.  Therefore a node of the tree has two
 * places: one for its own samples (`here`), and one for Python frames that it called (`below`).
 *
 * Threads: any.
 */
#ifndef SAMPLER_PROFILE_VIEWS_NATIVE_FRAMES_H
#define SAMPLER_PROFILE_VIEWS_NATIVE_FRAMES_H

#include <stdbool.h>

#include "sampler/profile/profile.h"

#define NATIVE_FRAMES(X)  \
    X(DEFAULT, "")        \
    X(HIDDEN, "hidden")   \
    X(LEAF, "leaf")       \
    X(LIBRARY, "library") \
    X(ALL, "all")         \
    X(EVERYTHING, "everything")

/* NATIVE_FRAMES_DEFAULT: not chosen, so leaf; a page has everything, and chooses itself. */
enum native_frames {
#define X(name, text) NATIVE_FRAMES_##name,
    NATIVE_FRAMES(X)
#undef X
};

/* By value (base/enum_text.h). */
extern const char *const native_frames_texts[];

/* The native function that stands where native frames are missing. */
#define NATIVE_GAP_NAME "<gap>"

enum frame_kind {
    FRAME_PYTHON,
    FRAME_MARK,
    FRAME_WAIT, /* a mark that says why a thread waits: the last frame of its stack (wait.h) */
    FRAME_CONTEXT, /* a mark that says what it works for: it has no children but FRAME_WAIT (context.h) */
    FRAME_NATIVE,
    FRAME_PLAIN, /* native: of the C library, or without a symbol */
    FRAME_GAP,
    FRAME_KERNEL, /* it has no frames of another kind below it, but notes */
    FRAME_INTERPRETER,
};

enum frame_kind frame_kind_of(const struct profile_snapshot *snapshot, function_id function);

/* A mark at the end of a stack, which says something of the sample, not which code ran. */
static inline bool frame_kind_is_note(enum frame_kind kind)
{
    return kind == FRAME_WAIT || kind == FRAME_CONTEXT;
}

/* True if the library at `path` is of glibc or musl, with their loaders and what used to be
 * files of their own. */
bool native_frames_is_c_library(const char *path);

/* Bits of a node. */
enum {
    NATIVE_BARE = 1 << 0,       /* the stack has no Python frame so far */
    NATIVE_NAMED = 1 << 1,      /* the frame of this run that leaf shows is not plain */
    NATIVE_KEPT_HERE = 1 << 2,  /* the frame stays, for its own samples */
    NATIVE_KEPT_BELOW = 1 << 3, /* the frame stays, for Python frames below it */
    NATIVE_REPLACES =
        1 << 4, /* the frame takes the place of all native ones below the Python frame */
    NATIVE_IN_KERNEL = 1 << 5, /* it is a frame of the kernel */
    NATIVE_ROOT = NATIVE_BARE, /* those of the root */
};

/* The bits of a node from those of its parent. */
unsigned native_frames_step(enum native_frames setting, unsigned parent, enum frame_kind kind);

#endif /* SAMPLER_PROFILE_VIEWS_NATIVE_FRAMES_H */
