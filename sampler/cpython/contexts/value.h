/*
 * value - what the value of a ContextVar says, as text.
 *
 * Objects of these types have a text: str, bytes (that are text), int, bool and None.  Of any other object it is the
 * name of its type, in angle brackets.  An OpenTelemetry context has the ids of its span: 32 and 16 hexadecimal digits,
 * with a space between.
 *
 * A text that is too long is cut, and ends with a hash of its length and its first VALUE_HASHED_BYTES: longer ones that are
 * equal in both are one value.
 *
 * Ownership: the caller's storage.
 * Threads: none.
 * Limits: VALUE_MAX_TEXT bytes, VALUE_MAX_CHARACTERS of a str or bytes.
 */
#ifndef SAMPLER_CPYTHON_CONTEXTS_VALUE_H
#define SAMPLER_CPYTHON_CONTEXTS_VALUE_H

#include "sampler/base/err.h"
#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/memory.h"

enum { VALUE_MAX_CHARACTERS = 64, VALUE_MAX_TEXT = 96, VALUE_HASHED_BYTES = 256 };

/* Control characters become '?'.  scratch: grows as needed.  ERR_NOT_FOUND: the value stands for none (Ellipsis). */
MUST_CHECK enum err_code value_read(struct memory *memory, const struct layout *layout,
                                    remote_addr object, struct object_bytes *scratch,
                                    char out[VALUE_MAX_TEXT]);

/* Reads the current span of an OpenTelemetry context. ERR_NOT_FOUND: it has no span. */
MUST_CHECK enum err_code value_read_span(struct memory *memory, const struct layout *layout,
                                         remote_addr object, struct object_bytes *scratch,
                                         char out[VALUE_MAX_TEXT]);

#endif /* SAMPLER_CPYTHON_CONTEXTS_VALUE_H */
