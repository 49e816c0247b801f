#include "sampler/profile/context.h"

#include <stdio.h>
#include <string.h>

#include "sampler/base/utf8.h"
#include "sampler/profile/wait.h"

#define MARK_BEGIN "<context "
#define DIGITS     "0123456789abcdef"

const char *context_mark_text(enum context_mark mark)
{
    static const char *const texts[] = {
#define X(name, text) text,
        CONTEXT_MARKS(X)
#undef X
    };
    return texts[mark];
}

bool context_variable_is_valid(const char *variable)
{
    const size_t length = strlen(variable);
    for (size_t i = 0; i < length; i++)
        if (variable[i] <= ' ' || variable[i] > '~' || strchr(":<>", variable[i]))
            return false;
    return length > 0 && length < CONTEXT_MAX_VARIABLE;
}

void context_name(const char *variable, enum context_mark mark, const char *value,
                  char out[CONTEXT_MAX_NAME])
{
    const bool has_value = mark == CONTEXT_MARK_VALUE;
    const char *const text = has_value ? value : context_mark_text(mark);
    const int used = snprintf(out, CONTEXT_MAX_NAME, MARK_BEGIN "%.*s%s ",
                              CONTEXT_MAX_VARIABLE - 1, variable, has_value ? ":" : "");
    const size_t room = CONTEXT_MAX_NAME - (size_t)used - sizeof ">";
    const size_t length = utf8_cut(text, strlen(text), room);
    snprintf(out + used, CONTEXT_MAX_NAME - (size_t)used, "%.*s>", (int)length, text);
}

/* Reads the text behind the variable, up to the end of the name. */
static bool read_end(const char *text, size_t length, struct context_text *out)
{
    if (length >= 2 && text[0] == ':' && text[1] == ' ') {
        out->mark = CONTEXT_MARK_VALUE;
        out->value = text + 2;
        out->value_length = length - 2;
        return true;
    }
    for (enum context_mark mark = CONTEXT_MARK_UNSET; mark < CONTEXT_MARK_VALUE; mark++) {
        const char *const word = context_mark_text(mark);
        if (length != strlen(word) + 1 || *text != ' ' ||
            memcmp(text + 1, word, length - 1) != 0)
            continue;
        out->mark = mark;
        out->value = text + length;
        out->value_length = 0;
        return true;
    }
    return false;
}

bool context_read_name(const char *name, struct context_text *out)
{
    if (strncmp(name, MARK_BEGIN, strlen(MARK_BEGIN)) != 0)
        return false;
    const char *const variable = name + strlen(MARK_BEGIN);
    const size_t length = strlen(variable), variable_length = strcspn(variable, ": >");
    if (variable_length == 0 || variable_length == length || variable[length - 1] != '>')
        return false;
    *out = (struct context_text){ .variable = variable, .variable_length = variable_length };
    return read_end(variable + variable_length, length - variable_length - 1, out);
}

bool context_read_span(const struct context_text *text, struct context_span *out)
{
    static const char variable[] = CONTEXT_OPENTELEMETRY;
    *out = (struct context_span){ text->value, text->value + CONTEXT_TRACE_DIGITS + 1 };
    return text->mark == CONTEXT_MARK_VALUE && text->variable_length == strlen(variable) &&
           memcmp(text->variable, variable, text->variable_length) == 0 &&
           text->value_length == CONTEXT_TRACE_DIGITS + 1 + CONTEXT_SPAN_DIGITS &&
           strspn(out->trace_id, DIGITS) == CONTEXT_TRACE_DIGITS &&
           text->value[CONTEXT_TRACE_DIGITS] == ' ' &&
           strspn(out->span_id, DIGITS) == CONTEXT_SPAN_DIGITS;
}

size_t context_guessed_length(const struct context_text *text)
{
    static const char variable[] = CONTEXT_GUESSED;
    if (text->mark != CONTEXT_MARK_VALUE || text->variable_length != strlen(variable) ||
        memcmp(text->variable, variable, text->variable_length) != 0)
        return 0;
    const size_t prefix = strspn(text->value, DIGITS);
    if (prefix != CONTEXT_GUESSED_PREFIX || text->value[prefix] != '-')
        return 0;
    const size_t digits = strspn(text->value + prefix + 1, "0123456789");
    const size_t length = prefix + 1 + digits;
    return digits && (length == text->value_length || text->value[length] == ' ') ? length : 0;
}

bool context_of_function(const struct profile_snapshot *snapshot, function_id function,
                         struct context_text *out)
{
    const struct profile_function row = profile_function_at(snapshot, function);
    if (row.library || row.first_line)
        return false;
    const struct strtab_string file = profile_string(snapshot, row.file);
    return file.length == 1 && *file.text == '~' &&
           context_read_name(profile_string(snapshot, row.name).text, out);
}

static function_id function_of(const struct profile_snapshot *snapshot, node_id node)
{
    return profile_frame_at(snapshot, profile_node_at(snapshot, node).frame).function;
}

function_id context_function_of_node(const struct profile_snapshot *snapshot, node_id node)
{
    struct context_text ignored;
    const function_id function = function_of(snapshot, wait_unmarked(snapshot, node));
    return context_of_function(snapshot, function, &ignored) ? function : 0;
}

node_id context_unmarked(const struct profile_snapshot *snapshot, node_id node)
{
    struct context_text ignored;
    const node_id above = wait_unmarked(snapshot, node);
    return context_of_function(snapshot, function_of(snapshot, above), &ignored)
               ? profile_node_at(snapshot, above).parent
               : above;
}

bool context_has_any(const struct profile_snapshot *snapshot)
{
    struct context_text ignored;
    for (function_id id = 1; id < snapshot->sizes.functions; id++)
        if (context_of_function(snapshot, id, &ignored))
            return true;
    return false;
}
