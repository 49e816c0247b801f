/*
 * writer - writes text into the columns of one line, and cuts what does not fit.
 *
 * Text may be hostile: it is written as in plain_text.  A character takes as
 * many columns as the C library says.
 *
 * Ownership: borrows the buffer.
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
    WRITER_CHOSEN, /* a selected row: inverse */
    WRITER_COLOURS
};

struct writer {
    struct buffer *out;
    unsigned left; /* columns */
    bool has_colours;
    bool is_chosen; /* the line is selected, and has no other colours */
};

void writer_colour(struct writer *writer, enum writer_colour colour);
void writer_text(struct writer *writer, const char *text, size_t length);
void writer_print(struct writer *writer, const char *format, ...) PRINTF_LIKE(2, 3);
/* Fills exactly `columns`, left-aligned.  A long text is cut at its end, or (_end) at its start. */
void writer_field(struct writer *writer, const char *text, size_t length, unsigned columns);
void writer_field_end(struct writer *writer, const char *text, size_t length, unsigned columns);
void writer_spaces(struct writer *writer, unsigned columns);

/* The number of columns that a text takes. */
unsigned writer_width(const char *text, size_t length);

#endif /* SERVER_TOP_WRITER_H */
