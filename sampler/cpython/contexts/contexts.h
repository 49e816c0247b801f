/*
 * contexts - the value of a named ContextVar in the contextvars.Context that a thread is in.
 *
 * A thread state names the thread's context, the context its variables: a trie of variables and values (hamt.h).  No
 * table of offsets has the place of the context in a thread state, so it is found by the type of what lies there.
 * Variables have names, which several may share; the first of them that has a value in a context counts.
 *
 * A thread may move while this is read.  A value is certain if all bytes that led to it are the same when they are
 * read again, the name of the context in the thread state included; otherwise it is unknown.  The bytes that led to
 * a value are kept with it, so the next sample in that context costs one call.
 *
 * A copy of the memory, of one instant, has what leads to the value if who made it knew the way: contexts_trail.  What is
 * not in it is unknown: by now, there may be something else.  Only the way is searched in the process itself.
 *
 * Ownership: contexts_destroy accepts NULL.
 * Threads: none.
 * Limits: CONTEXTS_MAX_VARIABLES variables of one name, CONTEXTS_KEPT values are kept, HAMT_MAX_PAIRS variables of a
 * context are searched.
 */
#ifndef SAMPLER_CPYTHON_CONTEXTS_CONTEXTS_H
#define SAMPLER_CPYTHON_CONTEXTS_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/contexts/value.h"
#include "sampler/process/memory.h"

struct layout;
struct thread;
struct thread_list;

enum { CONTEXTS_MAX_NAME = 64, CONTEXTS_MAX_VARIABLES = 4, CONTEXTS_KEPT = 512 };

/* How memory leads from a thread state to the value: what is known of it.  Types are 0 until they have been seen. */
struct contexts_trail {
    uint32_t place;          /* in a thread state; 0: unknown */
    bool is_span;            /* the value is an OpenTelemetry context, and its span wanted */
    uint32_t variable_bytes; /* of a variable, from its type on */
    remote_addr bitmap, array, collision; /* types of the nodes of a trie */
    size_t variable_count;
    struct {
        remote_addr addr;
        uint64_t hash;
    } variables[CONTEXTS_MAX_VARIABLES];
};

enum context_kind {
    CONTEXT_UNKNOWN, /* it could not be read with certainty */
    CONTEXT_UNSET,   /* the variable has no value in this context */
    CONTEXT_SET,
};

struct context_value {
    enum context_kind kind;
    uint32_t tag; /* for the caller; 0 when the value is new */
    char text[VALUE_MAX_TEXT];
};

/* The source of a thread's value. */
enum context_source {
    CONTEXT_OF_READING, /* the process, whose thread state has just been read */
    CONTEXT_OF_COPY,    /* memory of one instant, see above */
    CONTEXT_OF_NOW,     /* the process; what was read of the thread may be old */
};

struct contexts;

/* name NULL: the current span of OpenTelemetry.  layout: its tstate_context is set once that is known.  Borrows
 * everything. */
MUST_CHECK enum err_code contexts_create(const char *name, struct layout *layout,
                                         struct thread_list *threads, struct contexts **out);
void contexts_destroy(struct contexts *contexts);

/* Finds where thread states name their contexts, if that is not known yet and it is time to search.  Call before
 * threads are read. */
void contexts_locate(struct contexts *contexts, uint64_t now_ns);
/* From now on the place is read with the rest of a thread state.  Copies have it besides. */
void contexts_read_places(struct contexts *contexts);

/* Looks for variables in the contexts that threads are in now, if it is time to search.  Call before copies are read. */
void contexts_search(struct contexts *contexts, uint64_t now_ns);
void contexts_trail(const struct contexts *contexts, struct contexts_trail *out);

/* The value for a thread.  memory: of the source.  Valid until the next call. */
struct context_value *contexts_read(struct contexts *contexts, const struct thread *thread,
                                    struct memory *memory, enum context_source source,
                                    uint64_t now_ns);

/* The value for an asyncio task that waits: its context is named behind its coroutine, whose place in a task is given.
 * Valid until the next call. */
struct context_value *contexts_read_task(struct contexts *contexts, remote_addr task,
                                         uint32_t coroutine, uint64_t now_ns);

#endif /* SAMPLER_CPYTHON_CONTEXTS_CONTEXTS_H */
