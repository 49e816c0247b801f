/*
 * version_text - which version an interpreter says it is, in the text that Py_GetVersion made.
 *
 * For interpreters older than 3.11, which have no number to read: the text lies in their zeroed
 * data, not far from _PyRuntime.
 *
 * Limits: VERSION_TEXT_MAX_BYTES are searched.
 * Depends on: maps, memory.
 */
#ifndef SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H
#define SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/process/maps.h"
#include "sampler/process/memory.h"

enum { VERSION_TEXT_MAX_BYTES = 32 << 20 };

/* In the mapping of `addr` and the writable ones right behind it, as PY_VERSION_HEX; 0: not found. */
uint32_t version_text_find(struct memory *memory, const struct maps *maps, remote_addr addr);

/* "3.9.18 (main, ..." and the like at the start of the text; 0: it is no version. */
uint32_t version_text_parse(const char *text, size_t bytes);

#endif /* SAMPLER_CPYTHON_RUNTIME_VERSION_TEXT_H */
