/*
 * def_line - finds the line that defines a function in the text of a Python or Cython file, by its name.
 *
 * For functions that mypyc and Cython compiled: their libraries do not say where a function begins.  The
 * text is hostile; it is read once, line by line, with the names of the definitions around the line.
 *
 * Threads: any.
 * Limits: DEF_LINE_MAX_DEPTH definitions inside each other; what is deeper is not found.
 * Depends on: strtab (its strings).
 */
#ifndef SERVER_SOURCE_DEF_LINE_H
#define SERVER_SOURCE_DEF_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/strtab.h"

enum { DEF_LINE_MAX_DEPTH = 16 };

/* path: of the file, whose name is the last part of the module's; name: with module and classes,
 * `mypy.build.State.trace`.  Of several definitions the last one counts.  0: there is none. */
int32_t def_line_find(struct strtab_string path, const char *text, size_t length,
                      struct strtab_string name);

#endif /* SERVER_SOURCE_DEF_LINE_H */
