/*
 * def_line - finds the lines that define functions in the text of a Python or Cython file, by their names.
 *
 * For functions that mypyc and Cython compiled: their libraries do not say where a function begins.  The
 * text is hostile; it is read once, line by line, with the names of the definitions around the line.
 *
 * def_line_keep leaves of a text what belongs to some functions.
 *
 * Threads: any.
 * Limits: DEF_LINE_MAX_DEPTH definitions inside each other; what is deeper is not found.  The search
 * ends when DEF_LINE_MAX_CHECKS names have been compared with definitions.
 */
#ifndef SERVER_SOURCE_DEF_LINE_H
#define SERVER_SOURCE_DEF_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"
#include "sampler/base/strtab.h"

struct buffer;

enum { DEF_LINE_MAX_DEPTH = 16, DEF_LINE_MAX_CHECKS = 1 << 22, DEF_LINE_AROUND = 6 };

/* A function, and where it begins. */
struct def_line {
    struct strtab_string name; /* with module and classes: `mypy.build.State.trace` */
    uint32_t id;               /* the caller's */
    int32_t line;              /* of several definitions the last one; 0: there is none */
};

/* path: of the file, whose name is the last part of the module's.  Sorts the items and sets their lines. */
void def_line_find(struct strtab_string path, const char *text, size_t length,
                   struct def_line *items, size_t count);

/* A line that is wanted. */
struct def_line_mark {
    int32_t line;
    bool begins; /* a function, all of which is wanted */
};

/* Replaces `out` by the text, in which lines are empty unless they are of the functions that begin at marks, begin a
 * definition around one, or are at most DEF_LINE_AROUND lines from a mark that is in none.  marks: ascending by line.
 * is_whole_out: no line was left out. */
MUST_CHECK enum err_code def_line_keep(const char *text, size_t length,
                                       const struct def_line_mark *marks, size_t count,
                                       struct buffer *out, bool *is_whole_out, struct err *err);

#endif /* SERVER_SOURCE_DEF_LINE_H */
