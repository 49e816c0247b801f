/*
 * copy - the memory that holds one thread's Python frames, copied in one call.
 *
 * Frames lie in the thread's data-stack chunks, contiguous, except for loose ones: frames of
 * generators and coroutines (in the heap) and entry frames (on the C stack, 3.12 and later).
 * Where all of it is can be predicted from the reading before.
 *
 * A reading begins with the thread state, which says which frame runs: that instant is the one
 * the stack is of.  Reading A of the frames follows at once, newest chunk first, and reading B of
 * those on top: what is equal in both was so all the while.  LAST is the A of the reading before.
 *
 * Ownership: the caller's storage; copy_deinit accepts a zeroed one.
 * Limits: COPY_MAX_*; over them the stack is truncated.
 * Depends on: err, memory, layout, object.
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
    COPY_MAX_LOOSE = 1 << 12,
    COPY_MAX_CFRAMES = 4,
    COPY_MAX_HOPES = 8,
    COPY_IDLE_READINGS = 32,      /* a loose frame unused for so many readings is dropped */
    COPY_CHUNK_HEADER_BYTES = 24, /* previous, size, top */
};

enum copy_reading { COPY_A, COPY_B, COPY_LAST, COPY_READINGS };

/* A data-stack chunk; the one the stack began in comes first. */
struct copy_chunk {
    remote_addr addr;
    uint64_t size;      /* bytes of the whole chunk, header included */
    size_t bytes;       /* of A, from its start */
    size_t again_from;  /* B begins here; `bytes` where there is none */
    size_t last_bytes;  /* of LAST, 0: none */
    size_t next_bytes;  /* to be copied next time */
    size_t most;        /* used at any time since it was last trimmed */
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    size_t room;
    unsigned char *reading[COPY_READINGS];
};

struct copy_off_chunk {
    remote_addr addr;
    uint64_t last_used; /* number of the reading in which it was last part of the stack */
    remote_addr caller; /* last seen to be linked to, 0: never */
    bool is_entry, is_lost, has_last, has_again;
    unsigned char reading[COPY_READINGS][LAYOUT_MAX_FRAME_BYTES];
};

/* 3.11 and 3.12 keep the frame that runs in a structure of each level of the evaluation loop. */
struct copy_cframe {
    remote_addr addr;
    bool is_lost;
    unsigned char bytes[LAYOUT_MAX_CFRAME_BYTES];
};

struct copy {
    struct memory *memory;
    const struct layout *layout;
    remote_addr tstate_addr;
    uint64_t ident;              /* of the thread, which must stay the same; 0: not checked */
    remote_addr generation_addr; /* where code objects freed are counted, 0: nowhere */

    unsigned char tstate[LAYOUT_MAX_TSTATE_BYTES];
    uint64_t
        generation; /* read after the frames: what they name has not been freed before it */
    size_t tstate_bytes;                          /* of it that we need */
    struct copy_cframe cframes[COPY_MAX_CFRAMES]; /* the one last used first */
    size_t cframe_count;

    struct copy_chunk *chunks; /* after chunk_count: those above, which were there before */
    size_t chunk_count, chunk_known, chunk_room;
    unsigned doubts;    /* finds in a row that began at another chunk */
    size_t predictions; /* places of the hopes last planned */
    struct copy_off_chunk *off_chunk;
    size_t off_chunk_count, off_chunk_room;
    struct idmap off_chunk_index; /* by address */
    struct memory_span *spans;    /* what a reading consists of */
    size_t span_room;
    uint64_t readings;
    size_t plan_spans;  /* of the plan last made */
    size_t first_spans; /* without those of B */
    bool has_again;     /* B arrived */
    bool is_pieced;     /* parts of A were read late, by a call of their own or last of all */
    bool is_kept;       /* A is what the caller's stack was made from */
};

void copy_init(struct copy *copy, struct memory *memory, const struct layout *layout,
               remote_addr tstate_addr, remote_addr generation_addr);
void copy_deinit(struct copy *copy);

/* What a reading consists of: copy_plan fills at most copy_plan_count places; after they have been read
 * in order, copy_settle is told how many bytes of them arrived, reads what lies behind a place
 * that is gone, and says what copy_read would.  A glance has no B: enough to see that nothing has
 * moved.  The generation is not part of the plan: the caller reads it behind the places. */
size_t copy_plan_count(const struct copy *copy, bool is_quick);
size_t copy_plan(struct copy *copy, bool is_quick, struct memory_span *spans);
MUST_CHECK enum err_code copy_settle(struct copy *copy, const struct memory_span *spans,
                                     size_t count, size_t arrived);

/* Chunks above the newest that were there shortly before may be there again.  Their places, at most
 * COPY_MAX_HOPES, come last in a call, so that one that is gone takes nothing else with it. */
size_t copy_plan_predictions(struct copy *copy, struct memory_span *spans);
void copy_settle_predictions(struct copy *copy, size_t arrived);

/* Makes a reading in one call, or one for every MEMORY_MAX_SPANS places.  ERR_GONE: the thread
 * state is not there any more. */
MUST_CHECK enum err_code copy_read(struct copy *copy);

/* Makes the chunks those of the thread state that was read; what had not been predicted is not
 * copied until next time.  ERR_GONE: another thread is there by now.  ERR_FAULT, ERR_CORRUPT: the
 * list of chunks could not be followed. */
MUST_CHECK enum err_code copy_follow(struct copy *copy);

/* A is what the caller has understood; it will be LAST. */
void copy_keep(struct copy *copy);
/* Nothing of A and LAST is understood any more. */
void copy_forget(struct copy *copy);

/* How far A is as LAST was: a place in the chunks (see copy_place), above which it may differ.
 * COPY_NOWHERE: it is the same everywhere. */
#define COPY_NOWHERE UINT64_MAX
uint64_t copy_changed_from(const struct copy *copy);
/* Are all loose frames as they were? */
bool copy_off_chunk_is_same(const struct copy *copy);

/* The frame that ran when the thread state was read.  false: that is not known (3.11 and 3.12,
 * when a C function has just called Python); it will be next time. */
bool copy_running(struct copy *copy, remote_addr *out);

/* End of the used part of the newest chunk. */
remote_addr copy_stack_top(const struct copy *copy);

/* Places in chunks are numbers in the order of the stack.  COPY_NOWHERE: addr is in no chunk. */
uint64_t copy_place(const struct copy *copy, remote_addr addr);
/* The same, looked for from the chunk of `near` on outwards first. */
uint64_t copy_place_near(const struct copy *copy, remote_addr addr, uint64_t near);
/* Bytes at a place, NULL: not copied in this reading. */
const unsigned char *copy_at(const struct copy *copy, enum copy_reading reading, uint64_t place,
                             size_t bytes);
/* Bytes in a chunk, NULL: not copied in this reading. */
const unsigned char *copy_in_chunk(const struct copy *copy, enum copy_reading reading,
                                   remote_addr addr, size_t bytes);

/* Bytes of a loose frame, NULL: not copied in this reading. */
const unsigned char *copy_off_chunk(const struct copy *copy, enum copy_reading reading,
                                    remote_addr addr);
/* Is it an entry frame (no Python code of its own)? */
bool copy_is_entry(const struct layout *layout, const unsigned char *frame);
/* Has the loose frame at addr copied from now on.  ERR_LIMIT: there are too many. */
MUST_CHECK enum err_code copy_add_off_chunk(struct copy *copy, remote_addr addr);
/* The same, and reads it now: as A, and as B too if the frame that ran still does. */
MUST_CHECK enum err_code copy_fetch_off_chunk(struct copy *copy, remote_addr addr,
                                              remote_addr running);
/* Part of the stack; `caller`: the frame it is linked to. */
void copy_mark_used(struct copy *copy, remote_addr addr, remote_addr caller);
/* The frame it was last linked to, 0: none was seen. */
remote_addr copy_off_chunk_caller(const struct copy *copy, remote_addr addr);
/* Drops the loose frames that have not been used for long. */
void copy_drop_idle(struct copy *copy);

#endif /* SAMPLER_CPYTHON_STACK_COPY_H */
