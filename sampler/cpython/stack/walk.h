/*
 * walk - walks from the running frame to the outermost one, through the bytes of reading A.
 *
 * The thread state names the running frame, where the stack ends, and each frame names its caller.
 * The frames were read an instant later.  In between, the innermost frames may have returned, and
 * others may have taken their places:
 *   3.14 and later: the executable of a popped frame is cleared, but its instruction stays: if that is
 *   one of known code, this was a frame;
 *   3.11 to 3.13: a popped frame is not marked and stays as it was; but a caller that has not saved
 *   its value stack runs again, so its callee has returned.
 * A generator's link to its caller is cleared when it yields; the last link is stored.
 * The walk goes on through frames that have returned, but leaves them out, and all inner ones.
 *
 * Frames that have not changed since the previous walk are reused; their variables may have.
 */
#ifndef SAMPLER_CPYTHON_STACK_WALK_H
#define SAMPLER_CPYTHON_STACK_WALK_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/stack/copy.h"

struct walk_frame {
    remote_addr addr;
    remote_addr instr; /* being executed */
    remote_addr entry; /* the entry frame on the C stack that it was called through; 0: none */
    uint64_t
        place; /* in the chunks; of an off-chunk frame: that of the next outer frame in a chunk */
    code_id code;
    /* For the caller; they stay while this frame and all outer ones are unchanged. */
    uint32_t tags[2];
    bool is_off_chunk;
    bool entered_from_c;
    uint8_t empty_entries; /* entry frames that called no frame, right outside of `entry` */
};

/* Outermost first. */
struct walk {
    struct walk_frame *frames;
    size_t count, room;
    struct walk_frame *inner; /* scratch: found in this walk, innermost first */
    size_t inner_count, inner_room;
    remote_addr
        empty_entry; /* the innermost entry frame, if it has called no frame; 0: it has */
    size_t reused;   /* outermost frames reused from the previous walk */
    bool is_cut;    /* inner frames are missing: they had returned by the time they were read */
    bool loaded;    /* new code objects were read: another reading is needed */
    bool is_broken; /* the walk did not reach the outermost frame: no frame is known */
};

void walk_deinit(struct walk *walk);

/* Walks from the frame at `running`; 0: no frame runs.  `changed`: the first place at which A differs from LAST
 * (copy_changed_from).  ERR_NOMEM. */
MUST_CHECK enum err_code walk_reading(struct walk *walk, struct copy *copy, uint64_t changed,
                                      remote_addr running, struct code_table *codes);

#endif /* SAMPLER_CPYTHON_STACK_WALK_H */
