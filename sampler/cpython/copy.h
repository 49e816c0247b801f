/*
 * copy - the memory that holds one thread's Python frames, copied in one call.
 *
 * Frames lie in the thread's data-stack chunks, contiguous, except for loose ones: frames of
 * generators and coroutines (in the heap) and entry frames (on the C stack, 3.12 and later).
 * Where all of it is can be predicted from the reading before.  A reading copies everything
 * twice, A and B, with the thread state read between the two: what is equal in both was so at
 * that instant.
 *
 * Ownership: the caller's storage; copy_deinit accepts a zeroed one.
 * Limits: COPY_MAX_*; over them the stack is truncated.
 * Depends on: err, memory, layout, object.
 */
#ifndef SAMPLER_CPYTHON_COPY_H
#define SAMPLER_CPYTHON_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/layout.h"
#include "sampler/target/memory.h"

enum {
    COPY_MAX_CHUNKS = 1 << 16,
    COPY_MAX_CHUNK_BYTES = 64 << 20,
    COPY_MAX_BYTES = 256 << 20, /* of all chunks together, in one reading */
    COPY_MAX_LOOSE = 1 << 12,
    COPY_IDLE_READINGS = 1 << 8,  /* a loose frame unused for so many readings is dropped */
    COPY_CHUNK_HEADER_BYTES = 24, /* previous, size, top */
};

/* LAST is the reading A that the present stack was made from. */
enum copy_reading { COPY_A, COPY_B, COPY_LAST, COPY_READINGS };

/* A data-stack chunk; the one the stack began in comes first. */
struct copy_chunk {
    remote_addr addr;
    uint64_t size; /* bytes of the whole chunk, header included */
    size_t bytes;  /* copied from its start */
    size_t room;
    unsigned char *reading[COPY_READINGS];
};

struct copy_loose {
    remote_addr addr;
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    unsigned char reading[COPY_READINGS][LAYOUT_MAX_FRAME_BYTES];
};

struct copy {
    struct memory *memory;
    const struct layout *layout;
    remote_addr tstate_addr;
    uint64_t ident;              /* of the thread, which must stay the same; 0: not checked */
    remote_addr generation_addr; /* where code objects freed are counted, 0: nowhere */
    remote_addr cframe_addr;     /* predicted (3.11 and 3.12), 0: not known yet */

    unsigned char tstate[LAYOUT_MAX_TSTATE_BYTES];
    unsigned char cframe[LAYOUT_MAX_CFRAME_BYTES];
    uint64_t generation;
    size_t tstate_bytes; /* of it that we need */

    struct copy_chunk *chunks;
    size_t chunk_count, chunk_room;
    struct copy_loose *loose;
    size_t loose_count, loose_room;
    struct idmap loose_index;  /* by address */
    struct memory_span *spans; /* what a reading consists of */
    size_t span_room;
    uint64_t readings;
    bool has_last;        /* LAST is there and of the same shape */
    remote_addr last_top; /* of the stack, with LAST */
};

void copy_init(struct copy *copy, struct memory *memory, const struct layout *layout,
               remote_addr tstate_addr, remote_addr generation_addr);
void copy_deinit(struct copy *copy);

/* What a reading consists of: copy_plan fills copy_plan_count places; after they have been read
 * in order, copy_settle is told how many bytes of them arrived, and says what copy_read would. */
size_t copy_plan_count(const struct copy *copy);
void copy_plan(struct copy *copy, struct memory_span *spans);
MUST_CHECK enum err_code copy_settle(struct copy *copy, const struct memory_span *spans,
                                     size_t count, size_t arrived);

/* Reads A, the thread state, and B in one call, or one for every MEMORY_MAX_SPANS places.
 * ERR_FAULT: a prediction was wrong and has been dropped; try again. */
MUST_CHECK enum err_code copy_read(struct copy *copy);

/* Does what was read fit the thread state read with it?  If not, the predictions are corrected
 * and the answer is false.  ERR_GONE: another thread is there by now.  Chunks are then found by following their headers. */
MUST_CHECK enum err_code copy_fits(struct copy *copy, bool *fits_out);

/* A glance is reading A alone (and whether the thread waits for the GIL): enough to see that
 * nothing has moved since LAST. */
size_t copy_glance_count(const struct copy *copy);
void copy_plan_glance(struct copy *copy, struct memory_span *spans);
/* Is A what LAST was?  false also when there is no LAST. */
bool copy_glance_is_same(const struct copy *copy);

/* Are A, B and LAST the same bytes? */
bool copy_is_unchanged(const struct copy *copy);
/* Makes A the LAST, for the next question. */
void copy_keep(struct copy *copy);

/* The frame executing when the thread state was read, 0: none.  One more read for 3.11 and
 * 3.12 when the prediction was wrong. */
MUST_CHECK enum err_code copy_current_frame(struct copy *copy, remote_addr *out);

/* The frame executing at the instant between the readings, 0: not known for that instant. */
remote_addr copy_frame_between(const struct copy *copy);

/* End of the used part of the newest chunk. */
remote_addr copy_stack_top(const struct copy *copy);

/* Bytes of a loose frame, NULL: not copied. */
const unsigned char *copy_loose(const struct copy *copy, enum copy_reading reading,
                                remote_addr addr);
bool copy_in_chunks(const struct copy *copy, remote_addr addr);
/* Has the loose frame at addr copied from now on.  ERR_LIMIT: there are too many. */
MUST_CHECK enum err_code copy_add_loose(struct copy *copy, remote_addr addr);
void copy_mark_used(struct copy *copy, remote_addr addr);
/* Drops the loose frames that have not been used for long. */
void copy_drop_idle(struct copy *copy);

#endif /* SAMPLER_CPYTHON_COPY_H */
