/*
 * source_texts - the text of source files in a capture: a block of its own, before the end.
 *
 * A row is a file: its path as the target named it, and its text, or why there is none.  Of a text lines may have been
 * left out: they are empty, so that the others keep their numbers.  A path is a name to compare with those of functions,
 * and never opened.  A text is bytes of the target: it need not be UTF-8.
 *
 *     flags u8 (1: there is a text, 2: no line was left out), path, changed_ns, text or reason; path, text and reason
 *     are a length and the bytes
 *
 * Ownership: a list borrows its texts; source_texts_deinit accepts a zeroed one.
 * Limits: SOURCE_TEXTS_MAX_FILES rows and SOURCE_TEXTS_MAX_BYTES of a block, before compression.
 */
#ifndef SAMPLER_CAPTURE_SOURCE_TEXTS_H
#define SAMPLER_CAPTURE_SOURCE_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/base/err.h"

struct buffer;

enum { SOURCE_TEXTS_MAX_FILES = 512, SOURCE_TEXTS_MAX_BYTES = 1 << 20 };

/* The metadata of the end say whether there are texts, or why not. */
#define SOURCE_TEXT_KEPT      "kept"
#define SOURCE_TEXT_OFF       "off"       /* --no-source */
#define SOURCE_TEXT_OF_ALL    "all"       /* nobody has named the processes */
#define SOURCE_TEXT_NO_READER "no reader" /* source files could not be read */
#define SOURCE_TEXT_NO_END    "no end"    /* it has no end, or was merged from one without */

struct source_text {
    const char *path; /* these do not end with a NUL */
    const char *text; /* or the reason */
    size_t path_bytes, bytes;
    bool has_text, is_whole;
    uint64_t changed_ns; /* the file was last written, since 1970 */
};

struct source_texts {
    size_t count;
    struct source_text *items; /* of each path the first one counts */
};

/* Appends a row.  false: there is no room for it, and nothing was appended. */
bool source_texts_put(struct buffer *out, const struct source_text *row);
/* data must outlive the list. */
MUST_CHECK enum err_code source_texts_decode(const void *data, size_t bytes,
                                             struct source_texts *out, struct err *err);
void source_texts_deinit(struct source_texts *texts);
/* NULL: none has that path. */
const struct source_text *source_texts_find(const struct source_texts *texts, const char *path,
                                            size_t path_bytes);

/* Appends the rows of several lists, as far as there is room; count_out: those with a text.  Texts of one path become one
 * that has the lines of both; if these differ, only a reason stays. */
MUST_CHECK enum err_code source_texts_merge(const struct source_texts *const *lists,
                                            size_t count, struct buffer *out, size_t *count_out,
                                            struct err *err);

#endif /* SAMPLER_CAPTURE_SOURCE_TEXTS_H */
