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

enum pen_colour {
    PEN_PLAIN,
    PEN_BOLD,
    PEN_DIM,
    PEN_HOT,
    PEN_WARM,
    PEN_COOL,
    PEN_CHOSEN, /* a row: the other way round */
    PEN_COLOURS
};

struct pen {
    struct buffer *out;
    unsigned left; /* columns */
    bool has_colours;
    bool is_chosen; /* the line is: other colours are left out */
};

void pen_colour(struct pen *pen, enum pen_colour colour);
void pen_text(struct pen *pen, const char *text, size_t length);
void pen_print(struct pen *pen, const char *format, ...) PRINTF_LIKE(2, 3);
/* In so many columns exactly, at the left; cut at its end, or at its start. */
void pen_field(struct pen *pen, const char *text, size_t length, unsigned columns);
void pen_field_end(struct pen *pen, const char *text, size_t length, unsigned columns);
void pen_spaces(struct pen *pen, unsigned columns);

/* Columns a text takes. */
unsigned pen_width(const char *text, size_t length);

#endif /* SERVER_TOP_WRITER_H */
