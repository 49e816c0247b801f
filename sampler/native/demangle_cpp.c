#include "sampler/native/demangle_cpp.h"

#include <string.h>

bool cpp_skip(struct cpp_reader *reader, const char *text)
{
    const size_t bytes = strlen(text);
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, text, bytes) != 0)
        return false;
    reader->at += bytes;
    return true;
}

bool cpp_read_number(struct cpp_reader *reader, uint32_t *out)
{
    static const uint32_t most = 1 << 24;
    const char *const begin = reader->at;
    *out = 0;
    for (; cpp_is_digit(cpp_peek(reader)) && *out < most; reader->at++)
        *out = *out * 10 + (uint32_t)(*reader->at - '0');
    return reader->at > begin && *out < most;
}

bool cpp_read_sequence(struct cpp_reader *reader, uint32_t *out)
{
    *out = 0;
    if (cpp_skip(reader, "_"))
        return true;
    if (!cpp_read_number(reader, out) || !cpp_skip(reader, "_"))
        return false;
    ++*out;
    return true;
}

cpp_id cpp_fail(struct cpp_reader *reader)
{
    reader->work->has_failed = true;
    return 0;
}

cpp_id cpp_add(struct cpp_reader *reader, const struct cpp_part *part)
{
    if (reader->count == reader->room)
        return cpp_fail(reader);
    if (!demangle_step(reader->work, 1))
        return 0;
    reader->parts[reader->count] = *part;
    return (cpp_id)reader->count++;
}

cpp_id cpp_join(struct cpp_reader *reader, cpp_id first, const char *text, cpp_id second)
{
    const struct cpp_part part = { .kind = CPP_JOINED,
                                   .text = text,
                                   .text_bytes = (uint32_t)strlen(text),
                                   .first = first,
                                   .second = second };
    return cpp_add(reader, &part);
}

cpp_id cpp_text(struct cpp_reader *reader, const char *text, size_t bytes)
{
    const struct cpp_part part = { .kind = CPP_JOINED,
                                   .text = text,
                                   .text_bytes = (uint32_t)bytes };
    return cpp_add(reader, &part);
}

cpp_id cpp_number(struct cpp_reader *reader, uint32_t number)
{
    return cpp_add(reader, &(struct cpp_part){ .kind = CPP_NUMBER, .number = number });
}

cpp_id cpp_simple(struct cpp_reader *reader, cpp_id id)
{
    reader->parts[id].is_simple = true;
    return id;
}

cpp_id cpp_add_substitution(struct cpp_reader *reader, cpp_id id)
{
    if (!id || reader->substitution_count == reader->substitution_room)
        return cpp_fail(reader);
    reader->substitutions[reader->substitution_count++] = id;
    return id;
}

bool cpp_append(struct cpp_reader *reader, cpp_id *first, cpp_id *last, cpp_id item)
{
    const cpp_id id = cpp_add(reader, &(struct cpp_part){ .kind = CPP_LIST, .first = item });
    if (!item || !id)
        return cpp_fail(reader) != 0;
    if (*first)
        reader->parts[*last].second = id;
    else
        *first = id;
    *last = id;
    return true;
}

cpp_id cpp_item(struct demangle_work *work, const struct cpp_part *parts, cpp_id list,
                uint32_t number)
{
    for (; list && number && demangle_step(work, 1); number--)
        list = parts[list].second;
    return parts[list].first;
}

cpp_id cpp_empty_list(struct cpp_reader *reader)
{
    return cpp_add(reader, &(struct cpp_part){ .kind = CPP_LIST });
}

struct operation {
    char code[3];
    unsigned char operands;
    const char *text;
};

static const struct operation operators[] = {
    { "aN", 2, "&=" },
    { "aS", 2, "=" },
    { "aa", 2, "&&" },
    { "ad", 1, "&" },
    { "an", 2, "&" },
    { "at", 1, "alignof " },
    { "aw", 1, "co_await " },
    { "az", 1, "alignof " },
    { "cc", 2, "const_cast" },
    { "cl", 2, "()" },
    { "cm", 2, "," },
    { "co", 1, "~" },
    { "dV", 2, "/=" },
    { "dX", 3, "[...]=" },
    { "da", 1, "delete[] " },
    { "dc", 2, "dynamic_cast" },
    { "de", 1, "*" },
    { "di", 2, "=" },
    { "dl", 1, "delete " },
    { "ds", 2, ".*" },
    { "dt", 2, "." },
    { "dv", 2, "/" },
    { "dx", 2, "]=" },
    { "eO", 2, "^=" },
    { "eo", 2, "^" },
    { "eq", 2, "==" },
    { "fL", 3, "..." },
    { "fR", 3, "..." },
    { "fl", 2, "..." },
    { "fr", 2, "..." },
    { "ge", 2, ">=" },
    { "gs", 1, "::" },
    { "gt", 2, ">" },
    { "ix", 2, "[]" },
    { "lS", 2, "<<=" },
    { "le", 2, "<=" },
    { "li", 1, "operator\"\" " },
    { "ls", 2, "<<" },
    { "lt", 2, "<" },
    { "mI", 2, "-=" },
    { "mL", 2, "*=" },
    { "mi", 2, "-" },
    { "ml", 2, "*" },
    { "mm", 1, "--" },
    { "na", 3, "new[]" },
    { "ne", 2, "!=" },
    { "ng", 1, "-" },
    { "nt", 1, "!" },
    { "nw", 3, "new" },
    { "oR", 2, "|=" },
    { "oo", 2, "||" },
    { "or", 2, "|" },
    { "pL", 2, "+=" },
    { "pl", 2, "+" },
    { "pm", 2, "->*" },
    { "pp", 1, "++" },
    { "ps", 1, "+" },
    { "pt", 2, "->" },
    { "qu", 3, "?" },
    { "rM", 2, "%=" },
    { "rS", 2, ">>=" },
    { "rc", 2, "reinterpret_cast" },
    { "rm", 2, "%" },
    { "rs", 2, ">>" },
    { "sP", 1, "sizeof..." },
    { "sZ", 1, "sizeof..." },
    { "sc", 2, "static_cast" },
    { "ss", 2, "<=>" },
    { "st", 1, "sizeof " },
    { "sz", 1, "sizeof " },
    { "tr", 0, "throw" },
    { "tw", 1, "throw " },
};

const char *cpp_read_operator(struct cpp_reader *reader, char code[3], unsigned *operands)
{
    const struct operation *found = NULL;
    for (size_t i = 0; i < sizeof operators / sizeof *operators && !found; i++)
        if (operators[i].code[0] == cpp_peek(reader) &&
            operators[i].code[1] == cpp_peek_second(reader))
            found = &operators[i];
    if (!found || !demangle_step(reader->work, 1))
        return NULL;
    reader->at += 2;
    memcpy(code, found->code, 3);
    *operands = found->operands;
    return found->text;
}
