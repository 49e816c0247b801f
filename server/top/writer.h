/*
 * pen - text into the columns of a line: what does not fit is cut, and nothing can leave it.
 *
 * Text may be hostile: control characters are escaped as names_put_plain does it, and a character
 * takes the columns a terminal gives it, if the C library knows.
 *
 * Ownership: borrows the buffer.
 * Depends on: buffer, report/names.
 */
#ifndef SERVER_TOP_WRITER_H
#define SERVER_TOP_WRITER_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/buffer.h"

enum writer_colour {
    WRITER_PLAIN,
    WRITER_BOLD,
    WRITER_DIM,
    WRITER_HOT,
    WRITER_WARM,
    WRITER_COOL,
    WRITER_CHOSEN, /* a row: the other way round */
    WRITER_COLOURS
};

struct writer {
    struct buffer *out;
    unsigned left; /* columns */
    bool has_colours;
    bool is_chosen; /* the line is: other colours are left out */
};

void writer_colour(struct writer *writer, enum writer_colour colour);
void writer_text(struct writer *writer, const char *text, size_t length);
void writer_print(struct writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);
/* In so many columns exactly, at the left; cut at its end, or at its start. */
void writer_field(struct writer *writer, const char *text, size_t length, unsigned columns);
void writer_field_end(struct writer *writer, const char *text, size_t length, unsigned columns);
void writer_spaces(struct writer *writer, unsigned columns);

/* Columns a text takes. */
unsigned writer_width(const char *text, size_t length);

#endif /* SERVER_TOP_WRITER_H */
