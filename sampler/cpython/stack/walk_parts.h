/*
 * walk_parts - what the parts of walk share: walk.c goes outwards, walk_upwards.c looks for the
 * innermost frame that is still live, walk_frame.c makes a frame of bytes.
 *
 * Depends on: walk.
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
    const struct walk_context *context;
    remote_addr running;
    size_t kept;    /* leading frames of the walk before that may be taken over */
    uint64_t place; /* of the outermost frame in a chunk seen so far */
    size_t loaded, fetched;
    bool clears_executable; /* 3.14 and later */
    bool has_generators;    /* whose frames may lie between those in the chunks */
};

enum found { FOUND_FRAME, FOUND_BEGINNING, FOUND_NOTHING };

/* A frame that has not come near its first traceable instruction is still being set up, or is
 * the remains of a call that made a generator. */
enum found walk_make_frame(struct walker *w, remote_addr addr, const unsigned char *bytes,
                           struct walk_frame *out);
/* Does a frame wait for something it has called?  It has saved its value stack then.  One that has
 * not begun has an empty one saved, and an instruction that calls nothing. */
bool walk_is_waiting(const struct walker *w, const struct walk_frame *frame,
                     const unsigned char *bytes, bool for_generator);
/* Does the frame itself say that C called it (3.11)?  The outermost one does not count. */
bool walk_is_entered_from_c(const struct walker *w, uint64_t place, const unsigned char *bytes);
bool walk_is_outermost(const struct walker *w, uint64_t place);
/* As many as the bytes of the reading can hold. */
size_t walk_max_frames(const struct copy *copy);
/* The innermost frame that is live in reading A, all zero: none.  Goes upwards from what is
 * unchanged. */
struct slot walk_find_leaf(struct walker *w);

#endif /* SAMPLER_CPYTHON_STACK_WALK_PARTS_H */
