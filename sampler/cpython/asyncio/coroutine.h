/*
 * coroutine - where a coroutine that waits stands: its frame, that of what it awaits, and so on.
 *
 * A coroutine object holds its frame (3.11 and later) or points to it; one that is suspended in an await
 * has the awaited object on top of its value stack.  Async generators and the objects that
 * stand between a coroutine and what it awaits are followed; the way ends at a future, or
 * at whatever else C made.
 *
 * Structures: PyGenObject (Include/cpython/genobject.h), _PyInterpreterFrame, PyFrameObject; PyCoroWrapper,
 * PyAsyncGenASend, anext_awaitable (Objects/genobject.c) and FutureIter (_asynciomodule.c) hold what
 * they stand for right behind the object's head.
 *
 * Ownership: the caller's storage; coroutines_deinit accepts a zeroed one.  What is read is the revisit's.
 * Threads: none.
 * Limits: COROUTINE_MAX_FRAMES frames of a chain; the rest is left out.
 * Depends on: base, memory, layout, object, code, revisit, walk (frames).
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

/* What an object is, by its type. */
enum coroutine_kind {
    COROUTINE_OTHER,
    COROUTINE_FRAMED,    /* coroutine, generator, async generator: has a frame */
    COROUTINE_WRAPPER,   /* stands for another object */
    COROUTINE_FUTURE,    /* an iterator over a future */
    COROUTINE_GATHERING, /* the future of asyncio.gather */
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
    struct coroutine_type types[COROUTINE_MAX_TYPES]; /* seen lately */
    size_t type_count, oldest_type;
};

/* Outermost first. */
struct coroutine_chain {
    struct walk_frame frames[COROUTINE_MAX_FRAMES];
    size_t count;
    remote_addr
        awaits; /* where it ends: a future, a task or another object; 0: it does not wait */
    bool is_suspended; /* no part of it runs */
};

void coroutines_init(struct coroutines *coroutines, struct memory *memory,
                     const struct layout *layout, struct code_table *codes,
                     struct predicted_reads *reads);

enum coroutine_kind coroutine_kind_of(struct coroutines *coroutines, remote_addr type);
/* Is the object there a coroutine (or a generator)?  Reads its type. */
bool coroutine_is_there(struct coroutines *coroutines, remote_addr object);
/* The frame of a coroutine object; 0: it has none any more. */
MUST_CHECK enum err_code coroutine_frame(struct coroutines *coroutines, remote_addr object,
                                         remote_addr *out);
/* ERR_CORRUPT, ERR_FAULT: it has changed meanwhile, or is none. */
MUST_CHECK enum err_code coroutine_follow(struct coroutines *coroutines, remote_addr object,
                                          struct coroutine_chain *out);
/* After predicted_reads_again: have the frames stayed as they were? */
bool coroutine_stayed(const struct coroutines *coroutines, const struct walk_frame *frames,
                      size_t count);

#endif /* SAMPLER_CPYTHON_ASYNCIO_COROUTINE_H */
