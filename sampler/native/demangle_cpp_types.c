#include <string.h>

#include "sampler/native/demangle_cpp.h"

static const char *builtin_of(char letter)
{
    static const char *const names[] = {
        ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
        ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['z' - 'a'] = "...",
    };
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

/* Behind "D". */
static const char *long_builtin_of(char letter)
{
    static const struct {
        char letter;
        const char *name;
    } names[] = { { 'a', "auto" },       { 'c', "decltype(auto)" },
                  { 'f', "decimal32" },  { 'd', "decimal64" },
                  { 'e', "decimal128" }, { 'h', "half" },
                  { 'u', "char8_t" },    { 's', "char16_t" },
                  { 'i', "char32_t" },   { 'n', "decltype(nullptr)" } };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].letter == letter)
            return names[i].name;
    return NULL;
}

static cpp_id add_suffixed(struct cpp_reader *reader, enum cpp_kind kind, cpp_id type,
                           const char *text, cpp_id second)
{
    return cpp_add(reader, &(struct cpp_part){ .kind = (uint8_t)kind,
                                               .first = type,
                                               .text = text,
                                               .text_bytes = (uint32_t)strlen(text),
                                               .second = second });
}

static cpp_id add_qualified(struct cpp_reader *reader, cpp_id type, const char *text,
                            cpp_id second)
{
    return add_suffixed(reader, CPP_QUALIFIED, type, text, second);
}

/* "noexcept" and its like, which only functions have.  false: none is next. */
static bool read_exceptions(struct cpp_reader *reader, cpp_id *qualifiers)
{
    cpp_id first = 0, last = 0;
    if (cpp_skip(reader, "Dx")) {
        *qualifiers = cpp_join(reader, *qualifiers, " transaction_safe", 0);
    } else if (cpp_skip(reader, "Do")) {
        *qualifiers = cpp_join(reader, *qualifiers, " noexcept", 0);
    } else if (cpp_skip(reader, "DO")) {
        const cpp_id condition = cpp_join(reader, cpp_read_expression(reader), ")", 0);
        *qualifiers = cpp_join(reader, *qualifiers, " noexcept(", condition);
    } else if (cpp_skip(reader, "Dw")) {
        while (!reader->work->has_failed && cpp_peek(reader) != 'E')
            (void)cpp_append(reader, &first, &last, cpp_read_type(reader));
        *qualifiers = cpp_join(reader, *qualifiers, " throw(", cpp_join(reader, first, ")", 0));
    } else {
        return false;
    }
    const char last_letter = reader->at[-1];
    if ((last_letter != 'x' && last_letter != 'o') && !cpp_skip(reader, "E"))
        (void)cpp_fail(reader);
    return true;
}

/* The order in which they are written is the reverse of that in the name. */
static unsigned read_letters(struct cpp_reader *reader, const char *texts[3])
{
    unsigned count = 0;
    const bool is_restrict = cpp_skip(reader, "r"), is_volatile = cpp_skip(reader, "V");
    if (cpp_skip(reader, "K"))
        texts[count++] = " const";
    if (is_volatile)
        texts[count++] = " volatile";
    if (is_restrict)
        texts[count++] = " restrict";
    return count;
}

cpp_id cpp_rule_qualifiers(struct cpp_reader *reader)
{
    const char *texts[3];
    cpp_id qualifiers = 0;
    const unsigned count = read_letters(reader, texts);
    for (unsigned i = 0; i < count; i++)
        qualifiers = cpp_join(reader, qualifiers, texts[i], 0);
    while (read_exceptions(reader, &qualifiers) && !reader->work->has_failed)
        continue;
    return qualifiers;
}

/* Types up to "E" or the end of the name; one "v" are none. */
cpp_id cpp_rule_parameters(struct cpp_reader *reader)
{
    cpp_id first = 0, last = 0;
    uint32_t count = 0;
    bool is_void = false;
    for (; !reader->work->has_failed; count++) {
        const char next = cpp_peek(reader);
        const bool is_reference =
            (next == 'R' || next == 'O') && cpp_peek_second(reader) == 'E';
        if (!next || next == 'E' || next == '.' || is_reference)
            break;
        is_void = next == 'v';
        (void)cpp_append(reader, &first, &last, cpp_read_type(reader));
    }
    if (count == 0)
        return cpp_fail(reader);
    return count == 1 && is_void ? cpp_empty_list(reader) : first;
}

/* The type of a function, behind "F". */
static cpp_id read_function(struct cpp_reader *reader, cpp_id qualifiers)
{
    struct cpp_part function = { .kind = CPP_FUNCTION };
    (void)cpp_skip(reader, "Y");
    function.first = cpp_read_type(reader);
    function.second = cpp_read_parameters(reader);
    const char *const reference = cpp_skip(reader, "R")   ? " &"
                                  : cpp_skip(reader, "O") ? " &&"
                                                          : NULL;
    function.third = reference ? cpp_join(reader, qualifiers, reference, 0) : qualifiers;
    return cpp_skip(reader, "E") ? cpp_add(reader, &function) : cpp_fail(reader);
}

/* A length, or an expression of it, up to "_"; 0: there is none. */
static cpp_id read_length(struct cpp_reader *reader)
{
    const char *const begin = reader->at;
    cpp_id length = 0;
    while (cpp_peek(reader) >= '0' && cpp_peek(reader) <= '9')
        reader->at++;
    if (reader->at > begin)
        length = cpp_text(reader, begin, (size_t)(reader->at - begin));
    else if (cpp_peek(reader) != '_')
        length = cpp_read_expression(reader);
    return cpp_skip(reader, "_") ? length : cpp_fail(reader);
}

/* A floating-point type, behind "DF": "16_", "32x", "16b". */
static cpp_id read_float(struct cpp_reader *reader)
{
    uint32_t bits;
    if (!cpp_read_number(reader, &bits))
        return cpp_fail(reader);
    if (bits == 16 && cpp_skip(reader, "b"))
        return cpp_join(reader, 0, "std::bfloat16_t", 0);
    const bool is_extended = cpp_skip(reader, "x");
    if (!is_extended && !cpp_skip(reader, "_"))
        return cpp_fail(reader);
    return cpp_join(reader, 0, "_Float",
                    cpp_join(reader, cpp_number(reader, bits), is_extended ? "x" : "", 0));
}

/* Behind "D". */
static cpp_id read_long(struct cpp_reader *reader)
{
    const char letter = cpp_peek(reader);
    const char *const builtin = long_builtin_of(letter);
    reader->at += letter != '\0';
    if (builtin)
        return cpp_join(reader, 0, builtin, 0);
    if (letter == 'F')
        return read_float(reader);
    if (letter == 't' || letter == 'T') {
        const cpp_id expression = cpp_read_expression(reader);
        if (!cpp_skip(reader, "E"))
            return cpp_fail(reader);
        return cpp_add_substitution(
            reader, cpp_join(reader, 0, "decltype (", cpp_join(reader, expression, ")", 0)));
    }
    if (letter == 'p')
        return cpp_add_substitution(
            reader, cpp_add(reader, &(struct cpp_part){ .kind = CPP_EXPANSION,
                                                        .first = cpp_read_type(reader) }));
    if (letter != 'v')
        return cpp_fail(reader);
    (void)(cpp_peek(reader) == '_' && cpp_skip(reader, "_"));
    const cpp_id length = cpp_join(reader, read_length(reader), ")", 0);
    return cpp_add_substitution(
        reader, add_qualified(reader, cpp_read_type(reader), " __vector(", length));
}

static cpp_id point_to(struct cpp_reader *reader, cpp_id type, const char *text, cpp_id class)
{
    return add_suffixed(reader, CPP_POINTER, type, text, class);
}

static cpp_id read_qualified(struct cpp_reader *reader)
{
    const char *texts[3];
    const char *const begin = reader->at;
    const unsigned count = read_letters(reader, texts);
    cpp_id none = 0, type;
    const bool has_exceptions = read_exceptions(reader, &none);
    if (has_exceptions || cpp_peek(reader) == 'F') {
        reader->at = begin;
        const cpp_id qualifiers = cpp_read_qualifiers(reader);
        type = cpp_skip(reader, "F") ? read_function(reader, qualifiers) : cpp_fail(reader);
    } else {
        type = cpp_read_type(reader);
        for (unsigned i = 0; i < count; i++)
            type = add_qualified(reader, type, texts[i], 0);
    }
    return cpp_add_substitution(reader, type);
}

/* The number of an argument, behind "T". */
cpp_id cpp_rule_template_parameter(struct cpp_reader *reader)
{
    struct cpp_part part = { .kind = CPP_PARAMETER };
    if (!cpp_skip(reader, "T") || !cpp_read_sequence(reader, &part.number))
        return cpp_fail(reader);
    if (!reader->is_conversion)
        part.first = cpp_item(reader->work, reader->parts, reader->arguments, part.number);
    const cpp_id id = cpp_add(reader, &part);
    if (!reader->is_conversion)
        return id;
    if (reader->pending_count == CPP_MAX_PENDING)
        return cpp_fail(reader);
    return reader->pending[reader->pending_count++] = id;
}

static cpp_id read_type(struct cpp_reader *reader)
{
    struct cpp_naming naming;
    const char next = cpp_peek(reader), second = cpp_peek_second(reader);
    const char *const builtin = builtin_of(next);
    if (builtin) {
        reader->at++;
        return cpp_join(reader, 0, builtin, 0);
    }
    if (next == 'r' || next == 'V' || next == 'K' ||
        (next == 'D' && second && strchr("xoOw", second)))
        return read_qualified(reader);
    if (next == 'T') {
        /* Arguments behind a parameter in the type of a conversion operator are the operator's. */
        const cpp_id parameter =
            cpp_add_substitution(reader, cpp_read_template_parameter(reader));
        if (reader->is_conversion || cpp_peek(reader) != 'I')
            return parameter;
        return cpp_add_substitution(reader, cpp_read_template(reader, parameter));
    }
    if (!next || !strchr("uFAMOPRCGUD", next))
        return cpp_read_name(reader, true, &naming);
    reader->at++;
    if (next == 'D')
        return read_long(reader);
    cpp_id type = 0;
    switch (next) {
    case 'u': type = cpp_join(reader, cpp_read_source_name(reader), "", 0); break;
    case 'F': type = read_function(reader, 0); break;
    case 'A': {
        struct cpp_part array = { .kind = CPP_ARRAY, .second = read_length(reader) };
        array.first = cpp_read_type(reader);
        type = cpp_add(reader, &array);
        break;
    }
    case 'M': {
        const cpp_id class = cpp_read_type(reader);
        type = point_to(reader, cpp_read_type(reader), "::*", class);
        break;
    }
    case 'O': type = point_to(reader, cpp_read_type(reader), "&&", 0); break;
    case 'P': type = point_to(reader, cpp_read_type(reader), "*", 0); break;
    case 'R': type = point_to(reader, cpp_read_type(reader), "&", 0); break;
    case 'C': type = add_qualified(reader, cpp_read_type(reader), " _Complex", 0); break;
    case 'G': type = add_qualified(reader, cpp_read_type(reader), " _Imaginary", 0); break;
    default: {
        const cpp_id name = cpp_read_template(reader, cpp_read_source_name(reader));
        type = add_qualified(reader, cpp_read_type(reader), " ", name);
        break;
    }
    }
    return cpp_add_substitution(reader, type);
}

cpp_id cpp_rule_type(struct cpp_reader *reader)
{
    if (!demangle_enter(reader->work))
        return 0;
    const cpp_id type = read_type(reader);
    demangle_leave(reader->work);
    return type;
}

cpp_id cpp_rule_argument(struct cpp_reader *reader)
{
    if (cpp_skip(reader, "X")) {
        const cpp_id expression = cpp_read_expression(reader);
        return cpp_skip(reader, "E") ? expression : cpp_fail(reader);
    }
    if (cpp_skip(reader, "J") || cpp_skip(reader, "I"))
        return cpp_add(reader, &(struct cpp_part){ .kind = CPP_PACK,
                                                   .first = cpp_read_arguments(reader) });
    return cpp_peek(reader) == 'L' ? cpp_read_expression(reader) : cpp_read_type(reader);
}

cpp_id cpp_rule_arguments(struct cpp_reader *reader)
{
    cpp_id first = 0, last = 0;
    const cpp_id last_name = reader->last_name;
    const bool was_conversion = reader->is_conversion;
    if (!demangle_enter(reader->work))
        return 0;
    reader->is_conversion = false;
    while (!reader->work->has_failed && !cpp_skip(reader, "E"))
        (void)cpp_append(reader, &first, &last, cpp_read_argument(reader));
    reader->is_conversion = was_conversion;
    reader->last_name = last_name;
    demangle_leave(reader->work);
    return first ? first : cpp_empty_list(reader);
}
