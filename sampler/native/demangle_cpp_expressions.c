#include <string.h>

#include "sampler/native/demangle_cpp.h"

static cpp_id add_operand(struct cpp_reader *reader, cpp_id id)
{
    return cpp_add(reader, &(struct cpp_part){ .kind = CPP_OPERAND, .first = id });
}

static cpp_id read_operand(struct cpp_reader *reader)
{
    return add_operand(reader, cpp_read_expression(reader));
}

/* Expressions up to a letter. */
static cpp_id read_list(struct cpp_reader *reader, const char *end)
{
    cpp_id first = 0, last = 0;
    while (!reader->work->has_failed && !cpp_skip(reader, end))
        (void)cpp_append(reader, &first, &last, cpp_read_expression(reader));
    return first ? first : cpp_empty_list(reader);
}

/* A value, behind "L". */
static cpp_id read_value(struct cpp_reader *reader)
{
    static const struct {
        char letter;
        const char *end;
    } numbers[] = { { 'i', "" },   { 'j', "u" },  { 'l', "l" },
                    { 'm', "ul" }, { 'x', "ll" }, { 'y', "ull" } };
    const char letter = cpp_peek(reader);
    const cpp_id type = cpp_read_type(reader);
    if (letter == 'D' && reader->at[-1] == 'n' && cpp_peek(reader) == 'E')
        return type;
    const bool is_negative = cpp_skip(reader, "n");
    const char *const begin = reader->at;
    const char *const end = memchr(begin, 'E', (size_t)(reader->end - begin));
    if (!end || !demangle_step(reader->work, 1))
        return cpp_fail(reader);
    reader->at = end;
    const cpp_id value = cpp_text(reader, begin, (size_t)(end - begin));
    const char *const sign = is_negative ? "-" : "";
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].letter == letter)
            return cpp_join(reader, cpp_join(reader, 0, sign, value), numbers[i].end, 0);
    if (letter == 'b' && !is_negative && end - begin == 1 && (*begin == '0' || *begin == '1'))
        return cpp_join(reader, 0, *begin == '1' ? "true" : "false", 0);
    const bool is_float = letter && strchr("defg", letter);
    const cpp_id before =
        cpp_join(reader, cpp_join(reader, 0, "(", type), is_negative ? ")-" : ")", 0);
    return is_float ? cpp_join(reader, before, "[", cpp_join(reader, value, "]", 0))
                    : cpp_join(reader, before, "", value);
}

/* A name inside a type, or inside "levels" up to "E", behind "sr". */
static cpp_id read_unresolved(struct cpp_reader *reader)
{
    struct cpp_naming naming;
    cpp_id name = 0;
    if (cpp_peek(reader) >= '0' && cpp_peek(reader) <= '9')
        while (!reader->work->has_failed && !cpp_skip(reader, "E"))
            name = cpp_read_template(reader, cpp_read_unqualified_name(reader, name, &naming));
    else
        name = cpp_read_type(reader);
    (void)cpp_skip(reader, "on");
    name = cpp_read_unqualified_name(reader, name, &naming);
    return cpp_read_template(reader, name);
}

/* Values in braces, of a type or of none, behind "il". */
static cpp_id read_braces(struct cpp_reader *reader, cpp_id type)
{
    const cpp_id list = read_list(reader, "E");
    return cpp_simple(reader, cpp_join(reader, type, "{", cpp_join(reader, list, "}", 0)));
}

/* The operator is between the items of a pack, and the initial value. */
static cpp_id read_fold(struct cpp_reader *reader, char kind)
{
    char code[3];
    unsigned operands;
    const char *const text = cpp_read_operator(reader, code, &operands);
    if (!text)
        return cpp_fail(reader);
    const cpp_id first = read_operand(reader);
    if (kind == 'l')
        return cpp_join(reader, cpp_join(reader, 0, "(...", 0), text,
                        cpp_join(reader, first, ")", 0));
    const cpp_id before = cpp_join(reader, cpp_join(reader, 0, "(", first), text, 0);
    if (kind == 'r')
        return cpp_join(reader, before, "...)", 0);
    return cpp_join(reader, cpp_join(reader, before, "...", 0), text,
                    cpp_join(reader, read_operand(reader), ")", 0));
}

/* The part of an object that has a value, behind "di", "dx" or "dX". */
static cpp_id read_designated(struct cpp_reader *reader, char kind)
{
    struct cpp_naming naming;
    cpp_id place;
    if (kind == 'i') {
        place = cpp_join(reader, 0, ".", cpp_read_unqualified_name(reader, 0, &naming));
    } else {
        place = cpp_join(reader, 0, "[", cpp_read_expression(reader));
        if (kind == 'X')
            place = cpp_join(reader, place, " ... ", cpp_read_expression(reader));
        place = cpp_join(reader, place, "]", 0);
    }
    const char next = cpp_peek_second(reader);
    const bool is_chained =
        cpp_peek(reader) == 'd' && (next == 'i' || next == 'x' || next == 'X');
    return is_chained ? cpp_join(reader, place, "", cpp_read_expression(reader))
                      : cpp_join(reader, place, "=", read_operand(reader));
}

/* A new expression, behind "nw" or "na". */
static cpp_id read_new(struct cpp_reader *reader)
{
    cpp_id begin = cpp_join(reader, 0, "new ", 0);
    const cpp_id list = read_list(reader, "_");
    if (reader->parts[list].first)
        begin =
            cpp_join(reader, begin, "", cpp_join(reader, add_operand(reader, list), " ", 0));
    begin = cpp_join(reader, begin, "", cpp_read_type(reader));
    if (cpp_skip(reader, "E"))
        return begin;
    if (cpp_skip(reader, "pi"))
        return cpp_join(reader, begin, "", add_operand(reader, read_list(reader, "E")));
    return cpp_skip(reader, "il") ? cpp_join(reader, begin, "", read_braces(reader, 0))
                                  : cpp_fail(reader);
}

static cpp_id read_unary(struct cpp_reader *reader, const char *code, const char *text)
{
    if (strcmp(code, "st") == 0)
        return cpp_join(reader, cpp_join(reader, 0, "sizeof (", cpp_read_type(reader)), ")", 0);
    if (strcmp(code, "gs") == 0)
        return cpp_join(reader, 0, text, cpp_read_expression(reader));
    if (strcmp(code, "sZ") == 0 || strcmp(code, "sP") == 0) {
        cpp_id first = 0, last = 0, list;
        if (code[1] == 'P')
            list = cpp_read_arguments(reader);
        else
            list =
                cpp_append(
                    reader, &first, &last,
                    cpp_add(reader, &(struct cpp_part){ .kind = CPP_EXPANSION,
                                                        .first = cpp_read_expression(reader) }))
                    ? first
                    : 0;
        return cpp_add(reader, &(struct cpp_part){ .kind = CPP_COUNT, .first = list });
    }
    const bool is_step = code[0] == code[1] && (code[0] == 'p' || code[0] == 'm');
    if (is_step && !cpp_skip(reader, "_"))
        return cpp_join(reader, read_operand(reader), text, 0);
    cpp_id id = cpp_read_expression(reader);
    /* The address of a member function: its name says enough. */
    const struct cpp_part *const part = &reader->parts[id];
    if (strcmp(code, "ad") == 0 && part->kind == CPP_ENCODING &&
        reader->parts[part->first].is_simple && reader->parts[part->first].first &&
        !reader->parts[part->second].third)
        id = part->first;
    return cpp_join(reader, 0, text, add_operand(reader, id));
}

static cpp_id read_binary(struct cpp_reader *reader, const char *code, const char *text)
{
    if (code[1] == 'c' && strchr("sdcr", code[0])) {
        const cpp_id type =
            cpp_join(reader, cpp_join(reader, 0, text, 0), "<", cpp_read_type(reader));
        return cpp_join(reader, type, ">(",
                        cpp_join(reader, cpp_read_expression(reader), ")", 0));
    }
    if (code[0] == 'f')
        return read_fold(reader, code[1]);
    if (code[0] == 'd' && (code[1] == 'i' || code[1] == 'x'))
        return read_designated(reader, code[1]);
    if (strcmp(code, "cl") == 0) {
        cpp_id function = cpp_read_expression(reader);
        /* A function that is named with its type is called by its name. */
        if (reader->parts[function].kind == CPP_ENCODING)
            function = reader->parts[function].first;
        const cpp_id callee = add_operand(reader, function);
        return cpp_join(reader, callee, "", add_operand(reader, read_list(reader, "E")));
    }
    if (strcmp(code, "dt") == 0 || strcmp(code, "pt") == 0) {
        struct cpp_naming naming;
        const cpp_id object = read_operand(reader);
        const char next = cpp_peek(reader), second = cpp_peek_second(reader);
        if ((next == 'g' && second == 's') || (next == 's' && second == 'r'))
            return cpp_join(reader, object, text, read_operand(reader));
        (void)cpp_skip(reader, "on");
        const cpp_id name = cpp_read_unqualified_name(reader, 0, &naming);
        return cpp_join(reader, object, text,
                        add_operand(reader, cpp_read_template(reader, name)));
    }
    const cpp_id left = read_operand(reader);
    if (strcmp(code, "ix") == 0)
        return cpp_join(reader, left, "[",
                        cpp_join(reader, cpp_read_expression(reader), "]", 0));
    const cpp_id id = cpp_join(reader, left, text, read_operand(reader));
    /* Otherwise it would look like the end of arguments. */
    return strcmp(code, "gt") == 0 ? cpp_join(reader, cpp_join(reader, 0, "(", id), ")", 0)
                                   : id;
}

static cpp_id read_trinary(struct cpp_reader *reader, const char *code)
{
    if (code[0] == 'f')
        return read_fold(reader, code[1]);
    if (code[0] == 'd')
        return read_designated(reader, code[1]);
    if (code[0] == 'n')
        return read_new(reader);
    const cpp_id condition = read_operand(reader), first = read_operand(reader);
    return cpp_join(reader, cpp_join(reader, condition, "?", first), " : ",
                    read_operand(reader));
}

static cpp_id read_expression(struct cpp_reader *reader)
{
    char code[3];
    unsigned operands;
    const char next = cpp_peek(reader);
    if (next == 'T')
        return cpp_read_template_parameter(reader);
    if (cpp_skip(reader, "L")) {
        const bool is_name = cpp_skip(reader, "_Z") || cpp_skip(reader, "Z");
        const cpp_id id = is_name ? cpp_read_encoding(reader, false) : read_value(reader);
        return cpp_skip(reader, "E") ? id : cpp_fail(reader);
    }
    if (cpp_skip(reader, "sr"))
        return read_unresolved(reader);
    if (cpp_skip(reader, "sp"))
        return cpp_add(reader, &(struct cpp_part){ .kind = CPP_EXPANSION,
                                                   .first = cpp_read_expression(reader) });
    if (cpp_skip(reader, "fp")) {
        uint32_t number;
        if (cpp_skip(reader, "T"))
            return cpp_simple(reader, cpp_join(reader, 0, "this", 0));
        (void)cpp_read_qualifiers(reader);
        if (!cpp_read_sequence(reader, &number))
            return cpp_fail(reader);
        return cpp_simple(reader,
                          cpp_join(reader, 0, "{parm#",
                                   cpp_join(reader, cpp_number(reader, number + 1), "}", 0)));
    }
    if (cpp_skip(reader, "il"))
        return read_braces(reader, 0);
    if (cpp_skip(reader, "tl"))
        return read_braces(reader, cpp_read_type(reader));
    if (cpp_skip(reader, "cv")) {
        const cpp_id type =
            cpp_join(reader, cpp_join(reader, 0, "(", cpp_read_type(reader)), ")", 0);
        return cpp_join(reader, type, "",
                        cpp_skip(reader, "_") ? add_operand(reader, read_list(reader, "E"))
                                              : read_operand(reader));
    }
    if (cpp_skip(reader, "u")) {
        const cpp_id name = cpp_read_source_name(reader);
        return cpp_join(reader, name, "(",
                        cpp_join(reader, cpp_read_arguments(reader), ")", 0));
    }
    if (cpp_skip(reader, "on") || (next >= '0' && next <= '9')) {
        struct cpp_naming naming;
        return cpp_read_template(reader, cpp_read_unqualified_name(reader, 0, &naming));
    }
    const char *const text = cpp_read_operator(reader, code, &operands);
    if (!text)
        return cpp_fail(reader);
    switch (operands) {
    case 0: return cpp_join(reader, 0, text, 0);
    case 1: return read_unary(reader, code, text);
    case 2: return read_binary(reader, code, text);
    default: return read_trinary(reader, code);
    }
}

cpp_id cpp_rule_expression(struct cpp_reader *reader)
{
    const bool was_conversion = reader->is_conversion;
    if (!demangle_enter(reader->work))
        return 0;
    reader->is_conversion = false;
    const cpp_id id = read_expression(reader);
    reader->is_conversion = was_conversion;
    demangle_leave(reader->work);
    return id;
}
