/*
 * object_text - what an object is, as Python would write it.
 *
 * A value has a text if its type is built in: None, bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, frozendict,
 * set, frozenset, range, Ellipsis and NotImplemented.  Any other object, those of derived types too, is `<module.Type at 0x7f…>`:
 * what a class says of itself is code, and none is run.  A type counts as built in if it is part of the program and has the name.
 *
 * All of a text can be printed: characters that a terminal obeys, or that nobody sees, are escaped, and so are lone surrogates.  What
 * is left out shows as `…`, with how much there is; a container inside of itself as `[...]`, one that is too deep as `[…]`.
 *
 * Everything read is untrusted.
 *
 * Ownership: the caller's storage; object_texts_deinit accepts a zeroed one.
 * Threads: none.
 * Limits: OBJECT_TEXT_BYTES of a value, a leaf more; OBJECT_TEXT_DEPTH containers in one another, OBJECT_TEXT_ITEMS of each;
 * OBJECT_TEXT_CHARACTERS of a str, OBJECT_TEXT_OCTETS of bytes; NUMBER_MAX_DIGITS of an int; as many objects, and as much time, as the
 * caller allows.
 */
#ifndef SAMPLER_CPYTHON_LOCALS_OBJECT_TEXT_H
#define SAMPLER_CPYTHON_LOCALS_OBJECT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/process/memory.h"

struct buffer;

enum {
    OBJECT_TEXT_BYTES = 1024,
    OBJECT_TEXT_DEPTH = 4,
    OBJECT_TEXT_ITEMS = 10,
    OBJECT_TEXT_CHARACTERS = 100,
    OBJECT_TEXT_OCTETS = 64,
    OBJECT_TEXT_TYPE_BYTES = 128,
    OBJECT_TEXT_TYPES = 64,
};

/* X(kind, name of the type) */
#define OBJECT_KINDS(X)                      \
    X(NONE, "NoneType")                      \
    X(ELLIPSIS, "ellipsis")                  \
    X(NOT_IMPLEMENTED, "NotImplementedType") \
    X(BOOL, "bool")                          \
    X(INT, "int")                            \
    X(FLOAT, "float")                        \
    X(COMPLEX, "complex")                    \
    X(STR, "str")                            \
    X(BYTES, "bytes")                        \
    X(BYTEARRAY, "bytearray")                \
    X(LIST, "list")                          \
    X(TUPLE, "tuple")                        \
    X(DICT, "dict")                          \
    X(FROZENDICT, "frozendict")              \
    X(SET, "set")                            \
    X(FROZENSET, "frozenset")                \
    X(RANGE, "range")                        \
    X(CELL, "cell") /* of a variable; it has no text */

enum object_kind {
    OBJECT_OTHER,
#define X(kind, name) OBJECT_##kind,
    OBJECT_KINDS(X)
#undef X
};

struct object_type {
    remote_addr addr; /* 0: none is here yet */
    enum object_kind kind;
    char name[OBJECT_TEXT_TYPE_BYTES]; /* with its module; plain_text.h */
};

struct object_texts {
    struct memory *memory;
    const struct layout *layout;
    size_t objects;  /* that may still be read */
    uint64_t end_ns; /* CLOCK_MONOTONIC, until then; 0: no end */
    bool is_late;    /* it has passed while there was something to read */
    struct object_type types[OBJECT_TEXT_TYPES]; /* by a hash of their addresses */
    remote_addr path[OBJECT_TEXT_DEPTH];         /* containers around what is being written */
    size_t text_end;                             /* of the buffer, where the value has to end */
};

void object_texts_init(struct object_texts *texts, struct memory *memory,
                       const struct layout *layout);
/* Forgets the types: another one may have the address of one by now. */
void object_texts_begin(struct object_texts *texts, size_t objects, uint64_t end_ns);
/* No more objects may be read. */
bool object_texts_are_spent(struct object_texts *texts);

/* The type of an object; NULL: it cannot be read.  It is here until the next call. */
const struct object_type *object_texts_type(struct object_texts *texts, remote_addr object);
void object_texts_put(struct object_texts *texts, remote_addr object, struct buffer *out);

#endif /* SAMPLER_CPYTHON_LOCALS_OBJECT_TEXT_H */
