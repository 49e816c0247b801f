/*
 * frame_variables - arguments and local variables of the frames of a thread, as bytes that one process writes and another reads.
 *
 * Frames come innermost first; those that have no variable to show are there, too.  Texts can be printed as they are (plain_text.h).
 *
 * Ownership: the writer appends to the caller's buffer; the reader borrows the bytes, and so do its texts.
 */
#ifndef SAMPLER_BASE_FRAME_VARIABLES_H
#define SAMPLER_BASE_FRAME_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/base/byte_reader.h"
#include "sampler/base/strtab.h"

struct buffer;

enum variable_kind { VARIABLE_ARGUMENT, VARIABLE_LOCAL, VARIABLE_FREE };

struct variable {
    enum variable_kind kind;
    const char *name, *type;
    const char *value; /* NULL: not asked for */
};

/* A frame; its variables follow. */
struct variable_frame {
    str_id function, file;
};

void frame_variables_begin(struct buffer *out, str_id function, str_id file);
void frame_variables_put(struct buffer *out, const struct variable *variable);
void frame_variables_end(struct buffer *out, uint64_t left_out);

/* The next variable of a frame that has been begun; false: it has no more, and *left_out_out are not here. */
bool frame_variables_next(struct byte_reader *in, struct variable *out, uint64_t *left_out_out);
/* Begins the next frame; false: there is none. */
bool frame_variables_next_frame(struct byte_reader *in, struct variable_frame *out);

#endif /* SAMPLER_BASE_FRAME_VARIABLES_H */
