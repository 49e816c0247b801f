/*
 * walk - from the bytes of one reading to the frames that were live in it.
 *
 * Frames are walked from the outermost inwards: in a chunk the next frame begins where the one
 * before ends.  Whether it is live is told by the bytes next to it, read at the same moment, and
 * not by the thread's pointer to its current frame, which is another read and another instant:
 * pointer and frames would have to agree by luck, and short calls would be missed.
 *
 * A frame is live when its code is a code object that has begun to run, its link to the frame
 * before holds (directly or through entry frames), and
 *   3.14 and later: its executable is set (a popped frame's is cleared);
 *   3.11 to 3.13: it lies below the top of the stack, and its caller has begun to run and has
 *   saved its value stack, or is in C code.  Nothing marks a popped frame there, but it stays as
 *   it was until another is put in its place; so the top, and the frame that runs, say how deep
 *   the stack was when they were read, and the readings around it what was there.
 * A generator's frame is live when it is linked (its link is cleared when it yields).
 *
 * Depends on: copy, code.
 */
#ifndef SAMPLER_CPYTHON_WALK_H
#define SAMPLER_CPYTHON_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/code.h"
#include "sampler/cpython/copy.h"

enum { WALK_MAX_UNKNOWN = 64 };

struct walk_frame {
    remote_addr addr;
    remote_addr instr; /* being executed */
    code_id code;
    uint32_t
        tag; /* for the caller; kept while this frame and all outer ones stay as they are */
    bool entered_from_c;
    bool has_begun; /* else it is being set up and cannot have called anything yet */
};

/* Outermost first. */
struct walk {
    struct walk_frame *frames;
    size_t count, room;
    size_t before;     /* frames of the walk before; those from `count` on are still there */
    size_t same;       /* leading frames that are as they were in the walk before */
    size_t same_codes; /* leading frames with the code they had in the walk before */
    bool loaded;       /* code objects were read on the way: walk a fresh reading */
    bool has_loose;    /* frames of generators or coroutines */
    bool is_cut;       /* what follows has a caller that is not copied */
    remote_addr end;   /* of the last frame that lies in a chunk */
    size_t unknown_count;
    remote_addr unknown[WALK_MAX_UNKNOWN]; /* loose frames that should be copied too */
};

void walk_deinit(struct walk *walk);

/* WALK_REMAINS (before 3.14) also takes frames that have returned since, as long as they lie
 * below the top: what was there between the readings, if nothing else was put in its place. */
enum walk_kind { WALK_LIVE, WALK_REMAINS };

/* ERR_CORRUPT: what was copied cannot be a stack. */
MUST_CHECK enum err_code walk_reading(struct walk *walk, struct copy *copy,
                                      enum copy_reading reading, enum walk_kind kind,
                                      struct code_table *codes);

/* Is it an entry frame (no Python code of its own)? */
bool walk_is_entry(const struct layout *layout, const unsigned char *frame);

#endif /* SAMPLER_CPYTHON_WALK_H */
