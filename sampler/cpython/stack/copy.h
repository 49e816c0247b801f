/*
 * copy - copies the memory that holds one thread's Python frames, in one call.
 *
 * Frames are contiguous in the thread's data-stack chunks, except for off-chunk frames: those of
 * generators and coroutines (in the heap) and entry frames (on the C stack, 3.12 and later).  The
 * previous reading predicts the addresses of all of them.
 *
 * A reading begins with the thread state, which names the running frame: the sample is of that
 * instant.  Reading A of the frames follows at once, newest chunk first.  LAST is the A of the previous
 * reading.
 *
 * Ownership: the caller's storage; copy_deinit accepts a zeroed one.
 * Limits: COPY_MAX_*; beyond them the stack is truncated.
 */
#ifndef SAMPLER_CPYTHON_STACK_COPY_H
#define SAMPLER_CPYTHON_STACK_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

enum {
    COPY_MAX_CHUNKS = 1 << 16,
    COPY_MAX_CHUNK_BYTES = 64 << 20,
    COPY_MAX_BYTES = 256 << 20, /* of all chunks together, in one reading */
    COPY_MAX_OFF_CHUNK = 1 << 12,
    COPY_MAX_CFRAMES = 4,
    COPY_IDLE_READINGS = 32, /* an off-chunk frame unused for this many readings is dropped */
    COPY_CHUNK_HEADER_BYTES = 24, /* previous, size, top */
};

enum copy_reading { COPY_A, COPY_LAST, COPY_READINGS };

/* The outer frames in the chunks below `from`, as far as a stack is made from them.  Those with the same mark are the
 * same, so they are read and compared only once. */
struct copy_tail {
    uint64_t mark; /* 0: none */
    remote_addr from;
};

/* A data-stack chunk; the oldest comes first. */
struct copy_chunk {
    remote_addr addr;
    uint64_t size;     /* bytes of the whole chunk, header included */
    size_t bytes;      /* of A, from its start */
    size_t last_bytes; /* of LAST; 0: none */
    size_t next_bytes; /* to copy in the next reading */
    size_t most;       /* the most bytes used since the chunk was last trimmed */
    size_t room;
    unsigned char *reading[COPY_READINGS];
    /* The first bytes of A and LAST that are of a tail, and its mark. */
    struct copy_known {
        uint64_t mark;
        size_t bytes;
    } known, last_known;
};

struct copy_off_chunk {
    remote_addr addr;
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    remote_addr caller; /* the last caller it was linked to; 0: none */
    bool is_entry, is_lost, has_last;
    unsigned char reading[COPY_READINGS][LAYOUT_MAX_FRAME_BYTES];
};

/* 3.11 and 3.12 have the running frame in a structure for each level of the evaluation loop. */
struct copy_cframe {
    remote_addr addr;
    bool is_lost;
    unsigned char bytes[LAYOUT_MAX_CFRAME_BYTES];
};

struct copy {
    struct memory *memory;
    const struct layout *layout;
    remote_addr tstate_addr;
    uint64_t ident;              /* of the thread, which must not change; 0: not checked */
    remote_addr generation_addr; /* counter of freed code objects; 0: none */

    unsigned char tstate[LAYOUT_MAX_TSTATE_BYTES];
    uint64_t
        generation; /* read after the frames: what they name has not been freed before it */
    size_t tstate_bytes;                          /* of it that we need */
    struct copy_cframe cframes[COPY_MAX_CFRAMES]; /* the one last used first */
    size_t cframe_count;

    struct copy_chunk *chunks; /* from chunk_count on: chunks above, of earlier readings */
    size_t chunk_count, chunk_known, chunk_room;
    unsigned doubts; /* searches in a row that found another first chunk */
    struct copy_off_chunk *off_chunk;
    size_t off_chunk_count, off_chunk_room;
    struct idmap off_chunk_index; /* by address */
    struct memory_span *spans;    /* of one reading */
    size_t span_room;
    uint64_t readings;
    size_t plan_spans; /* of the last plan */
    bool is_accepted;  /* the caller's stack was made from A */
    bool is_still;     /* set by the caller: the thread cannot move, so A is of one instant */
    bool is_quick;     /* the same: the reading only shows that nothing moved */
    /* The time of the copy that the memory is, set by the caller; code objects are checked once
     * for many copies. 0: the memory is read now. */
    uint64_t taken_ns;
    struct copy_tail tail; /* the same: of that copy */
};

void copy_init(struct copy *copy, struct memory *memory, const struct layout *layout,
               remote_addr tstate_addr, remote_addr generation_addr);
void copy_deinit(struct copy *copy);

/* For a caller that reads many threads in one call.  copy_plan fills at most copy_plan_count spans.
 * The caller reads them in order, and then the generation, which is not part of the plan.
 * copy_settle takes the number of bytes that arrived, reads the spans after one that could not be
 * read, and returns what copy_read would. */
size_t copy_plan_count(const struct copy *copy);
size_t copy_plan(struct copy *copy, struct memory_span *spans);
MUST_CHECK enum err_code copy_settle(struct copy *copy, const struct memory_span *spans,
                                     size_t count, size_t arrived);

/* Makes a reading, in one call for every MEMORY_MAX_SPANS spans.  ERR_GONE: the thread state no longer
 * exists. */
MUST_CHECK enum err_code copy_read(struct copy *copy);

/* Updates the list of chunks from the thread state that was read; bytes that were not predicted are
 * copied in the next reading.  ERR_GONE: another thread has that thread state by now.  ERR_FAULT,
 * ERR_CORRUPT: the list of chunks could not be followed. */
MUST_CHECK enum err_code copy_follow(struct copy *copy);

/* The caller has made a stack from A: A becomes the next LAST. */
void copy_accept(struct copy *copy);
/* The caller has no stack for A or LAST. */
void copy_forget(struct copy *copy);

/* The first place (see copy_place), from the place `from` on, at which A differs from LAST.  COPY_NOWHERE:
 * none. */
#define COPY_NOWHERE UINT64_MAX
uint64_t copy_changed_from(const struct copy *copy, uint64_t from);
/* Are all off-chunk frames the same as in LAST? */
bool copy_off_chunk_is_same(const struct copy *copy);

/* The frame that ran when the thread state was read.  false: unknown (3.11 and 3.12, when a C function
 * has just called Python); the next reading will know it. */
bool copy_running(struct copy *copy, remote_addr *out);
/* The running frame of the evaluation loop around the innermost one (3.11 and 3.12).  The interpreter
 * names the innermost loop before it sets the running frame of that loop: then the loop has not begun. */
bool copy_running_before(const struct copy *copy, remote_addr *out);

/* End of the used part of the newest chunk. */
remote_addr copy_stack_top(const struct copy *copy);

/* A place numbers an address in the chunks, in the order of the stack.  COPY_NOWHERE: in no chunk. */
uint64_t copy_place(const struct copy *copy, remote_addr addr);
/* The place of addr; begins the search at the chunk of `near`, outwards. */
uint64_t copy_place_near(const struct copy *copy, remote_addr addr, uint64_t near);
/* Bytes at a place; NULL: not copied in this reading. */
const unsigned char *copy_at(const struct copy *copy, enum copy_reading reading, uint64_t place,
                             size_t bytes);
/* Bytes in a chunk; NULL: not copied in this reading. */
const unsigned char *copy_in_chunk(const struct copy *copy, enum copy_reading reading,
                                   remote_addr addr, size_t bytes);

/* Bytes of an off-chunk frame; NULL: not copied in this reading. */
const unsigned char *copy_off_chunk(const struct copy *copy, enum copy_reading reading,
                                    remote_addr addr);
/* "C stack" in 3.12 and 3.13; 4 in 3.14 is on the C stack too. */
enum { COPY_OWNER_INTERPRETER = 3 };
/* Is it an entry frame, which has no Python code? */
bool copy_is_entry(const struct layout *layout, const unsigned char *frame);
/* Adds the off-chunk frame at addr to later readings.  ERR_LIMIT: too many. */
MUST_CHECK enum err_code copy_add_off_chunk(struct copy *copy, remote_addr addr);
/* Adds the frame and reads it now. */
MUST_CHECK enum err_code copy_fetch_off_chunk(struct copy *copy, remote_addr addr);
/* Marks the frame as part of the stack; `caller`: the frame it is linked to. */
void copy_mark_used(struct copy *copy, remote_addr addr, remote_addr caller);
/* The last caller the frame was linked to; 0: none. */
remote_addr copy_off_chunk_caller(const struct copy *copy, remote_addr addr);
/* Drops the off-chunk frames that were not used for COPY_IDLE_READINGS. */
void copy_drop_idle(struct copy *copy);

#endif /* SAMPLER_CPYTHON_STACK_COPY_H */
