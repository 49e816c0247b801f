/*
 * coroutine - the stack of a suspended coroutine: its frame, the frame of what it awaits, and so on.
 *
 * A coroutine object holds its frame (3.11 and later) or points to it.  If it is suspended in an await,
 * the awaited object is on top of its value stack.  The chain leads through async generators and
 * wrapper objects, and ends at a future or another object of C.
 *
 * Structures: PyGenObject (Include/cpython/genobject.h), _PyInterpreterFrame and PyFrameObject.
 * PyCoroWrapper, PyAsyncGenASend, anext_awaitable (Objects/genobject.c) and FutureIter
 * (_asynciomodule.c) hold the wrapped object in their first field.
 *
 * Ownership: the caller's storage; the bytes that were read belong to the predicted reads.
 * Threads: none.
 * Limits: COROUTINE_MAX_FRAMES frames of a chain; is_truncated says that there are more.
 */
#ifndef SAMPLER_CPYTHON_ASYNCIO_COROUTINE_H
#define SAMPLER_CPYTHON_ASYNCIO_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/objects/predicted_reads.h"
#include "sampler/cpython/stack/walk.h"

enum { COROUTINE_MAX_FRAMES = 512, COROUTINE_MAX_TYPES = 64 };

/* The kind of an object, by its type. */
enum coroutine_kind {
    COROUTINE_OTHER,
    COROUTINE_FRAMED,  /* a coroutine, generator or async generator: has a frame */
    COROUTINE_WRAPPER, /* wraps another object */
    COROUTINE_FUTURE,  /* an iterator over a future */
    COROUTINE_GATHER,  /* the future of asyncio.gather */
};

struct coroutine_type {
    remote_addr addr;
    enum coroutine_kind kind;
};

struct coroutines {
    struct memory *memory;
    const struct layout *layout;
    struct code_table *codes;
    struct predicted_reads *reads;
    struct coroutine_type types[COROUTINE_MAX_TYPES]; /* the last ones seen */
    size_t type_count, oldest_type;
};

/* Outermost first. */
struct coroutine_chain {
    struct walk_frame frames[COROUTINE_MAX_FRAMES];
    size_t count;
    remote_addr awaits; /* the end: a future, a task or another object; 0: does not wait */
    bool is_suspended;  /* no frame of the chain runs */
    bool is_truncated;  /* its innermost frames are missing: there are too many */
};

void coroutines_init(struct coroutines *coroutines, struct memory *memory,
                     const struct layout *layout, struct code_table *codes,
                     struct predicted_reads *reads);

enum coroutine_kind coroutine_kind_of(struct coroutines *coroutines, remote_addr type);
/* Is the object a coroutine or generator?  Reads its type. */
bool coroutine_is_at(struct coroutines *coroutines, remote_addr object);
/* The frame of a coroutine object; 0: the coroutine has ended. */
MUST_CHECK enum err_code coroutine_frame(struct coroutines *coroutines, remote_addr object,
                                         remote_addr *out);
/* ERR_CORRUPT, ERR_FAULT: the object has changed meanwhile, or is not a coroutine. */
MUST_CHECK enum err_code coroutine_follow(struct coroutines *coroutines, remote_addr object,
                                          struct coroutine_chain *out);
/* After predicted_reads_again: are the frames the same as before? */
bool coroutine_is_unchanged(const struct coroutines *coroutines,
                            const struct walk_frame *frames, size_t count);

#endif /* SAMPLER_CPYTHON_ASYNCIO_COROUTINE_H */
