#include "sampler/base/frame_variables.h"

#include "sampler/base/buffer.h"

/* The byte before a variable, and after the last one. */
enum { END, VARIABLE };

void frame_variables_begin(struct buffer *out, str_id function, str_id file)
{
    buffer_number(out, function);
    buffer_number(out, file);
}

void frame_variables_put(struct buffer *out, const struct variable *variable)
{
    buffer_u8(out, VARIABLE);
    buffer_u8(out, (unsigned)variable->kind);
    buffer_sized_text(out, variable->name);
    buffer_sized_text(out, variable->type);
    buffer_u8(out, variable->value != NULL);
    if (variable->value)
        buffer_sized_text(out, variable->value);
}

void frame_variables_end(struct buffer *out, uint64_t left_out)
{
    buffer_u8(out, END);
    buffer_number(out, left_out);
}

bool frame_variables_next(struct byte_reader *in, struct variable *out, uint64_t *left_out_out)
{
    *left_out_out = 0;
    if (byte_reader_u8(in) == END) {
        *left_out_out = byte_reader_number(in);
        return false;
    }
    const unsigned kind = byte_reader_u8(in);
    out->kind = kind <= VARIABLE_FREE ? (enum variable_kind)kind : VARIABLE_LOCAL;
    out->name = byte_reader_text(in);
    out->type = byte_reader_text(in);
    out->value = byte_reader_u8(in) ? byte_reader_text(in) : NULL;
    return !in->is_bad;
}

bool frame_variables_next_frame(struct byte_reader *in, struct variable_frame *out)
{
    if (in->is_bad || byte_reader_left(in) == 0)
        return false;
    out->function = (str_id)byte_reader_below(in, UINT32_MAX);
    out->file = (str_id)byte_reader_below(in, UINT32_MAX);
    return !in->is_bad;
}
