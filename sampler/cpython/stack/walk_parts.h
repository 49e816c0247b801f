/*
 * walk_parts - shared by the files of walk: walk.c walks outwards, walk_frame.c makes a frame from bytes.
 */
#ifndef SAMPLER_CPYTHON_STACK_WALK_PARTS_H
#define SAMPLER_CPYTHON_STACK_WALK_PARTS_H

#include "sampler/cpython/stack/walk.h"

enum {
    WALK_MAX_ENTRIES = 8, /* entry frames in a row */
    WALK_WORD = sizeof(uint64_t),
};

struct walker {
    struct walk *walk;
    struct copy *copy;
    const struct layout *layout;
    struct code_table *codes;
    remote_addr running;
    size_t reusable; /* leading frames of the walk before that may be taken over */
    uint64_t place;  /* of the outermost frame in a chunk seen so far */
    size_t found;    /* frames, and those that have returned */
    size_t loaded, fetched;
};

enum found { FOUND_FRAME, FOUND_RETURNED, FOUND_BEGINNING, FOUND_NOTHING };

/* FOUND_RETURNED: the frame has returned meanwhile.  FOUND_BEGINNING: the frame is before its first traceable instruction; it is still being set up, or is
 * the rest of a call that made a generator. */
enum found walk_make_frame(struct walker *w, remote_addr addr, const unsigned char *bytes,
                           struct walk_frame *out);
/* Does a frame wait for its callee?  A waiting frame has saved its value stack.  A frame that has not
 * begun has saved an empty one, and is not at a call. */
bool walk_is_waiting(const struct walker *w, const struct walk_frame *frame,
                     const unsigned char *bytes, bool for_generator);
/* Is the frame marked as called by C (3.11)?  The outermost frame does not count. */
bool walk_is_entered_from_c(const struct walker *w, uint64_t place, const unsigned char *bytes);
bool walk_is_outermost(const struct walker *w, uint64_t place);

#endif /* SAMPLER_CPYTHON_STACK_WALK_PARTS_H */
