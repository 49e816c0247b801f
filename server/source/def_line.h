/*
 * def_line - finds the lines that define functions in the text of a Python or Cython file, by their names.
 *
 * For functions that mypyc and Cython compiled: their libraries do not say where a function begins.  The
 * text is hostile; it is read once, line by line, with the names of the definitions around the line.
 *
 * Threads: any.
 * Limits: DEF_LINE_MAX_DEPTH definitions inside each other; what is deeper is not found.  The search
 * ends when DEF_LINE_MAX_CHECKS names have been compared with definitions.
 * Depends on: strtab (its strings).
 */
#ifndef SERVER_SOURCE_DEF_LINE_H
#define SERVER_SOURCE_DEF_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "sampler/base/strtab.h"

enum { DEF_LINE_MAX_DEPTH = 16, DEF_LINE_MAX_CHECKS = 1 << 22 };

/* A function, and where it begins. */
struct def_line {
    struct strtab_string name; /* with module and classes: `mypy.build.State.trace` */
    uint32_t id;               /* the caller's */
    int32_t line;              /* of several definitions the last one; 0: there is none */
};

/* path: of the file, whose name is the last part of the module's.  Sorts the items and sets their lines. */
void def_line_find(struct strtab_string path, const char *text, size_t length,
                   struct def_line *items, size_t count);

#endif /* SERVER_SOURCE_DEF_LINE_H */
