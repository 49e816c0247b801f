/*
 * source_lines - the source file and line of a function, from the debug information (DWARF) of an ELF
 * file; the only module that sees libdw.
 *
 * The file is hostile, and libdw reads it without limits of its own.  So call this only in a
 * process that has nothing to lose, with limits of time and memory; a damaged file may end that process.
 * Without libdw in the build there are no lines (no_source_lines.c).
 *
 * Ownership: the image stays the caller's, and must be there until source_lines_close.
 * Threads: none.
 * Limits: SOURCE_LINES_MAX_UNITS compilation units are searched, where the file has no index of them.
 */
#ifndef SAMPLER_NATIVE_SOURCE_LINES_H
#define SAMPLER_NATIVE_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

enum { SOURCE_LINES_MAX_UNITS = 1 << 20 };

bool source_lines_are_supported(void);

struct source_lines;

/* NULL: the image has no usable debug information, or this was built without libdw.  image: the whole file;
 * libdw may write to it. */
struct source_lines *source_lines_open(void *image, size_t bytes);
void source_lines_close(struct source_lines *lines);

/* Finds the beginning of the function at an address. vaddr: as linked. file: its name as the
 * compiler saw it; a name that has no room is not found. ERR_NOT_FOUND: the debug information
 * does not describe the function. */
MUST_CHECK enum err_code source_lines_find(struct source_lines *lines, uint64_t vaddr,
                                           char *file, size_t room, int32_t *line_out);

#endif /* SAMPLER_NATIVE_SOURCE_LINES_H */
