/*
 * locals - arguments and local variables of the frames of a thread that stands still.
 *
 * The names come from code objects, the values from the frames: their variables, cells followed to what they hold; and of frames whose
 * names are in a dictionary, such as the body of a class, that dictionary, unless it is that of the globals (the code of a module).
 * A variable without a value yet is left out, and so are the names that the compiler made (".0") and those of the body of a class
 * that begin and end with two underscores.
 *
 * A thread that is not stopped may go on while it is read.  So the variables of all its frames are read again at the end, and what was
 * found counts only if none has changed.  Objects may change nevertheless, by other threads.
 *
 * Everything read is untrusted.
 *
 * Ownership: the caller's storage; locals_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: the LOCALS_MAX_FRAMES innermost frames, LOCALS_MAX_VARIABLES of each; about LOCALS_MAX_FRAME_BYTES of text of a frame,
 * LOCALS_MAX_BYTES of a thread; LOCALS_MAX_OBJECTS of a thread; the time of the caller.  What is over them is counted.
 */
#ifndef SAMPLER_CPYTHON_LOCALS_LOCALS_H
#define SAMPLER_CPYTHON_LOCALS_LOCALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/buffer.h"
#include "sampler/base/err.h"
#include "sampler/cpython/locals/object_text.h"
#include "sampler/cpython/objects/code.h"
#include "sampler/cpython/threads/threads.h"

enum {
    LOCALS_MAX_FRAMES = 256,
    LOCALS_MAX_VARIABLES = 100,
    LOCALS_MAX_FRAME_BYTES = 16 << 10,
    LOCALS_MAX_BYTES = 256 << 10,
    LOCALS_MAX_OBJECTS = 1 << 14,
    LOCALS_NAME_BYTES = 64,
};

/* A variable of a code object. */
struct locals_name {
    uint32_t slot; /* among the variables of a frame */
    bool is_argument, is_free, is_cell;
    char text[LOCALS_NAME_BYTES]; /* plain_text.h */
};

/* The variables of a code object, arguments first. */
struct locals_names {
    code_id code;    /* CODE_NONE: none have been read */
    uint64_t clears; /* of the code table, when they were */
    uint32_t flags;  /* of the code object */
    uint32_t slots, left_out;
    struct locals_name items[LOCALS_MAX_VARIABLES];
    size_t count;
};

struct locals {
    struct code_table *codes;
    struct object_texts texts;
    struct locals_names names; /* of the code object that was asked for last */
    struct buffer value;       /* that is being written */
};

void locals_init(struct locals *locals, struct code_table *codes);
void locals_deinit(struct locals *locals);

/* How the variables of a thread are read. */
struct locals_request {
    bool has_values;   /* false: names and types alone */
    bool is_stopped;   /* the thread cannot go on meanwhile */
    bool accepts_part; /* what could be read in time, if that is not all */
    uint64_t end_ns;   /* CLOCK_MONOTONIC; no object is read after it */
};

/* Appends the frames of a thread that has just been read (frame_variables.h), or nothing.  ERR_NOT_FOUND: the thread went on, it has no
 * frames, or its variables are unknown.  ERR_LIMIT: the time did not suffice. */
MUST_CHECK enum err_code locals_read(struct locals *locals, const struct thread *thread,
                                     const struct locals_request *request, struct buffer *out);

#endif /* SAMPLER_CPYTHON_LOCALS_LOCALS_H */
