/*
 * version_text - finds an interpreter's version in the text that Py_GetVersion has made.
 *
 * Interpreters older than 3.11 do not store their version as a number.  The text is in their zeroed
 * data, near _PyRuntime.
 *
 * Limits: VERSION_TEXT_MAX_BYTES are searched.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H
#define SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/process/maps.h"
#include "sampler/process/memory.h"

enum { VERSION_TEXT_MAX_BYTES = 32 << 20 };

/* Searches the mapping of `addr` and the adjacent writable ones after it.  Returns PY_VERSION_HEX;
 * 0: not found. */
uint32_t version_text_find(struct memory *memory, const struct maps *maps, remote_addr addr);

/* Parses "3.9.18 (main, ..." at the start of the text; 0: not a version. */
uint32_t version_text_parse(const char *text, size_t bytes);

#endif /* SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H */
