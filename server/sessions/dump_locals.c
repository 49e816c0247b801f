#include "server/sessions/dump_locals.h"

#include <inttypes.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/plain_text.h"
#include "server/sessions/dump.h"
#include "server/wire/json.h"

struct dump_locals dump_locals_of(const struct dump *dump, const struct dump_row *row)
{
    struct dump_locals locals = { .has_frame = false };
    if (row->locals) {
        const struct session_locals_thread *const thread =
            &dump->locals.threads[row->locals - 1];
        locals.in = byte_reader_of(dump->locals.frames + thread->from, thread->bytes);
        locals.has_frame = frame_variables_next_frame(&locals.in, &locals.frame);
    }
    return locals;
}

static bool is_at(const struct dump_locals *locals, str_id function, str_id file)
{
    return locals->has_frame && locals->frame.function == function &&
           locals->frame.file == file;
}

static void put_plain(struct buffer *out, const char *text)
{
    plain_text_put(out, text, strlen(text));
}

/* Names with values are a line each, names with types are one line. */
static void put_variable(struct buffer *out, const struct variable *variable, bool is_first)
{
    const bool has_value = variable->value != NULL;
    if (is_first)
        buffer_printf(out, "      %s:%s",
                      variable->kind == VARIABLE_ARGUMENT ? "arguments" : "locals",
                      has_value ? "\n" : " ");
    buffer_text(out, has_value ? "        " : is_first ? "" : ", ");
    put_plain(out, variable->name);
    buffer_text(out, has_value ? ": " : " (");
    put_plain(out, has_value ? variable->value : variable->type);
    buffer_text(out, has_value ? "\n" : ")");
}

void dump_locals_put(struct buffer *out, struct dump_locals *locals, str_id function,
                     str_id file)
{
    struct variable variable;
    uint64_t left_out;
    bool were_arguments = false, has_line = false;
    size_t count = 0;
    if (!is_at(locals, function, file))
        return;
    for (; frame_variables_next(&locals->in, &variable, &left_out); count++) {
        const bool are_arguments = variable.kind == VARIABLE_ARGUMENT;
        const bool is_first = count == 0 || were_arguments != are_arguments;
        if (is_first && has_line)
            buffer_char(out, '\n');
        put_variable(out, &variable, is_first);
        has_line = variable.value == NULL;
        were_arguments = are_arguments;
    }
    if (has_line)
        buffer_char(out, '\n');
    if (left_out)
        buffer_printf(out, "      %" PRIu64 " more variable%s\n", left_out,
                      left_out == 1 ? "" : "s");
    locals->has_frame = frame_variables_next_frame(&locals->in, &locals->frame);
}

void dump_locals_write(struct json *json, struct dump_locals *locals, str_id function,
                       str_id file)
{
    static const char *const kinds[] = {
        [VARIABLE_ARGUMENT] = "argument", [VARIABLE_LOCAL] = "local", [VARIABLE_FREE] = "free"
    };
    struct variable variable;
    uint64_t left_out;
    if (!json_member_if(json, "locals", is_at(locals, function, file)))
        return;
    json_object(json);
    json_member_array(json, "variables");
    while (frame_variables_next(&locals->in, &variable, &left_out)) {
        json_object(json);
        json_member_text(json, "name", variable.name);
        json_member_text(json, "kind", kinds[variable.kind]);
        json_member_text(json, "type", variable.type);
        json_member_text(json, "value", variable.value);
        json_end(json);
    }
    json_end(json);
    json_member_uint(json, "left_out", left_out);
    json_end(json);
    locals->has_frame = frame_variables_next_frame(&locals->in, &locals->frame);
}
