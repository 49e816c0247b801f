#include <string.h>

#include "sampler/native/demangle_cpp.h"

/* An identifier of the length before it. */
static cpp_id read_identifier(struct cpp_reader *reader)
{
    static const char anonymous[] = "(anonymous namespace)";
    uint32_t bytes;
    if (!cpp_read_number(reader, &bytes) || bytes == 0 ||
        (size_t)(reader->end - reader->at) < bytes)
        return cpp_fail(reader);
    const char *const name = reader->at;
    reader->at += bytes;

    /* GCC's name of a namespace that has none. */
    static const char prefix[] = "_GLOBAL_";
    const size_t length = sizeof prefix - 1;
    return cpp_simple(reader, bytes >= length + 2 && memcmp(name, prefix, length) == 0 &&
                                      strchr("._$", name[length]) && name[length + 1] == 'N'
                                  ? cpp_text(reader, anonymous, sizeof anonymous - 1)
                                  : cpp_text(reader, name, bytes));
}

cpp_id cpp_read_source_name(struct cpp_reader *reader)
{
    return reader->last_name = read_identifier(reader);
}

/* "_1", "__12_": which of several local entities of a name.  It is not written. */
static bool skip_discriminator(struct cpp_reader *reader)
{
    uint32_t number;
    if (!cpp_skip(reader, "_"))
        return true;
    const bool is_long = cpp_skip(reader, "_");
    return !cpp_read_number(reader, &number) || !is_long || number < 10 ||
           cpp_skip(reader, "_");
}

void cpp_resolve_pending(struct cpp_reader *reader, cpp_id arguments)
{
    for (uint32_t i = 0; i < reader->pending_count; i++) {
        struct cpp_part *const parameter = &reader->parts[reader->pending[i]];
        parameter->first = cpp_item(reader->work, reader->parts, arguments, parameter->number);
        parameter->is_fixed = true;
    }
    reader->pending_count = 0;
}

static cpp_id read_operator_name(struct cpp_reader *reader)
{
    char code[3];
    unsigned operands;
    if (cpp_skip(reader, "cv")) {
        const bool was_conversion = reader->is_conversion;
        reader->is_conversion = true;
        const cpp_id type = cpp_read_type(reader);
        reader->is_conversion = was_conversion;
        return cpp_join(reader, 0, "operator ", type);
    }
    if (cpp_peek(reader) == 'v' && cpp_is_digit(cpp_peek_second(reader))) {
        reader->at += 2;
        return cpp_join(reader, 0, "operator ", read_identifier(reader));
    }
    const char *const text = cpp_read_operator(reader, code, &operands);
    if (!text)
        return cpp_fail(reader);
    if (strcmp(code, "li") == 0)
        return cpp_join(reader, 0, "operator\"\" ", read_identifier(reader));
    const size_t bytes = strlen(text);
    return cpp_join(reader, 0, cpp_is_lower(*text) ? "operator " : "operator",
                    cpp_text(reader, text, bytes - (text[bytes - 1] == ' ')));
}

/* "Ty", "Tn" and a type, "Tt" and parameters, "Tp" and one of these: what a generic lambda has. */
static cpp_id read_lambda_parameter(struct cpp_reader *reader, const char **letter_out)
{
    cpp_id first = 0, last = 0, part = 0;
    const char *letter;
    if (!demangle_enter(reader->work))
        return 0;
    if (cpp_skip(reader, "Ty")) {
        *letter_out = "$T";
        part = cpp_join(reader, 0, "typename", 0);
    } else if (cpp_skip(reader, "Tn")) {
        *letter_out = "$N";
        part = cpp_read_type(reader);
    } else if (cpp_skip(reader, "Tp")) {
        part = cpp_join(reader, read_lambda_parameter(reader, letter_out), "...", 0);
    } else if (cpp_skip(reader, "Tt")) {
        while (!reader->work->has_failed && !cpp_skip(reader, "E"))
            (void)cpp_append(reader, &first, &last, read_lambda_parameter(reader, &letter));
        *letter_out = "$TT";
        part = cpp_join(reader, cpp_join(reader, 0, "template<", first), "> class", 0);
    } else {
        (void)cpp_fail(reader);
    }
    demangle_leave(reader->work);
    return part;
}

static cpp_id read_lambda(struct cpp_reader *reader)
{
    struct cpp_part lambda = { .kind = CPP_LAMBDA };
    const cpp_id outer = reader->arguments;
    uint32_t number;
    reader->arguments = 0;

    /* "<typename $T0>" of a generic lambda, and the names of its parameters.  0: it has none. */
    cpp_id first = 0, last = 0, last_name = 0;
    lambda.second = 0;
    for (uint32_t i = 0; cpp_peek(reader) == 'T' && !reader->work->has_failed; i++) {
        const char *letter = "";
        const char second = cpp_peek_second(reader);
        if (!second || !strchr("ynpt", second))
            break;
        const cpp_id kind = read_lambda_parameter(reader, &letter);
        const cpp_id name = cpp_join(reader, 0, letter, cpp_number(reader, i));
        (void)cpp_append(reader, &lambda.second, &last_name, name);
        (void)cpp_append(reader, &first, &last, cpp_join(reader, kind, " ", name));
    }
    const cpp_id head = first ? cpp_join(reader, cpp_join(reader, 0, "<", first), ">", 0) : 0;

    lambda.first = cpp_read_parameters(reader);
    reader->arguments = outer;
    if (!cpp_skip(reader, "E") || !cpp_read_sequence(reader, &number))
        return cpp_fail(reader);
    const cpp_id begin =
        cpp_join(reader, cpp_join(reader, 0, "{lambda", head), "(", cpp_add(reader, &lambda));
    return cpp_join(reader, begin, ")#",
                    cpp_join(reader, cpp_number(reader, number + 1), "}", 0));
}

static cpp_id read_unqualified(struct cpp_reader *reader, struct cpp_naming *naming)
{
    const char next = cpp_peek(reader);
    if (cpp_is_digit(next))
        return cpp_read_source_name(reader);
    if (cpp_is_lower(next)) {
        naming->has_no_type = next == 'c' && cpp_peek_second(reader) == 'v';
        return read_operator_name(reader);
    }
    if (cpp_skip(reader, "DC")) {
        cpp_id first = 0, last = 0;
        while (!reader->work->has_failed && !cpp_skip(reader, "E"))
            (void)cpp_append(reader, &first, &last, cpp_read_source_name(reader));
        return first ? cpp_join(reader, cpp_join(reader, 0, "[", first), "]", 0)
                     : cpp_fail(reader);
    }
    if (next == 'C' || next == 'D') {
        naming->has_no_type = true;
        /* Constructors and destructors of the class whose name was read last. */
        const bool is_destructor = cpp_skip(reader, "D");
        const bool is_inherited =
            !is_destructor && cpp_skip(reader, "C") && cpp_skip(reader, "I");
        const char kind = cpp_peek(reader);
        if (kind < (is_destructor ? '0' : '1') || kind > '5')
            return cpp_fail(reader);
        reader->at++;
        if (is_inherited)
            (void)cpp_read_type(reader);
        if (!reader->last_name)
            return cpp_fail(reader);
        return is_destructor ? cpp_join(reader, 0, "~", reader->last_name)
                             : cpp_join(reader, reader->last_name, "", 0);
    }
    if (cpp_skip(reader, "L")) {
        const cpp_id name = cpp_read_source_name(reader);
        return skip_discriminator(reader) ? name : cpp_fail(reader);
    }
    if (cpp_skip(reader, "Ul"))
        return read_lambda(reader);
    if (cpp_skip(reader, "Ut")) {
        uint32_t number;
        if (!cpp_read_sequence(reader, &number))
            return cpp_fail(reader);
        return cpp_add_substitution(
            reader, cpp_join(reader, 0, "{unnamed type#",
                             cpp_join(reader, cpp_number(reader, number + 1), "}", 0)));
    }
    return cpp_fail(reader);
}

static cpp_id read_tags(struct cpp_reader *reader, cpp_id name)
{
    while (!reader->work->has_failed && cpp_skip(reader, "B"))
        name =
            cpp_join(reader, cpp_join(reader, name, "[abi:", read_identifier(reader)), "]", 0);
    return name;
}

cpp_id cpp_read_unqualified_name(struct cpp_reader *reader, cpp_id scope,
                                 struct cpp_naming *naming)
{
    naming->has_no_type = false;
    naming->arguments = 0;
    const cpp_id name = read_tags(reader, read_unqualified(reader, naming));
    return scope ? cpp_simple(reader, cpp_join(reader, scope, "::", name)) : name;
}

/* Behind "S". */
static cpp_id read_standard(struct cpp_reader *reader)
{
    static const struct {
        char letter;
        const char *name, *whole, *last;
    } names[] = {
        { 't', "std", "std", NULL },
        { 'a', "std::allocator", "std::allocator", "allocator" },
        { 'b', "std::basic_string", "std::basic_string", "basic_string" },
        { 's', "std::string",
          "std::basic_string<char, std::char_traits<char>, std::allocator<char> >",
          "basic_string" },
        { 'i', "std::istream", "std::basic_istream<char, std::char_traits<char> >",
          "basic_istream" },
        { 'o', "std::ostream", "std::basic_ostream<char, std::char_traits<char> >",
          "basic_ostream" },
        { 'd', "std::iostream", "std::basic_iostream<char, std::char_traits<char> >",
          "basic_iostream" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (cpp_peek(reader) != names[i].letter)
            continue;
        reader->at++;
        if (names[i].last)
            reader->last_name = cpp_join(reader, 0, names[i].last, 0);
        /* The class of a constructor is written as what it is, not as the name that stands for it. */
        const bool has_structor = cpp_peek(reader) == 'C' || cpp_peek(reader) == 'D';
        const cpp_id name =
            cpp_join(reader, 0, has_structor ? names[i].whole : names[i].name, 0);
        const cpp_id last_name = reader->last_name;
        if (cpp_peek(reader) != 'B')
            return name;
        const cpp_id tagged = read_tags(reader, name);
        reader->last_name = last_name;
        return cpp_add_substitution(reader, tagged);
    }
    return cpp_fail(reader);
}

/* Behind "S". */
static cpp_id read_substitution(struct cpp_reader *reader)
{
    uint32_t number = 0;
    if (!cpp_is_digit(cpp_peek(reader)) && cpp_peek(reader) != '_' &&
        !(cpp_peek(reader) >= 'A' && cpp_peek(reader) <= 'Z'))
        return read_standard(reader);
    for (bool is_first = true; !cpp_skip(reader, "_"); is_first = false) {
        const char c = cpp_peek(reader);
        number = is_first ? 0 : number;
        if (cpp_is_digit(c))
            number = number * 36 + (uint32_t)(c - '0');
        else if (c >= 'A' && c <= 'Z')
            number = number * 36 + (uint32_t)(c - 'A') + 10;
        else
            return cpp_fail(reader);
        if (number >= reader->substitution_count)
            return cpp_fail(reader);
        reader->at++;
        if (cpp_peek(reader) == '_')
            number++;
    }
    if (number >= reader->substitution_count)
        return cpp_fail(reader);
    return reader->substitutions[number];
}

cpp_id cpp_read_template(struct cpp_reader *reader, cpp_id scope)
{
    if (!cpp_skip(reader, "I"))
        return scope;
    return cpp_add(reader, &(struct cpp_part){ .kind = CPP_TEMPLATE,
                                               .first = scope,
                                               .second = cpp_read_arguments(reader) });
}

/* The arguments of a template whose name was read, if there are any. */
static cpp_id read_arguments_of(struct cpp_reader *reader, cpp_id scope,
                                struct cpp_naming *naming)
{
    const cpp_id id = cpp_read_template(reader, scope);
    naming->arguments = id ? reader->parts[id].second : 0;
    if (naming->has_no_type)
        cpp_resolve_pending(reader, naming->arguments);
    return id;
}

/* The parts of a nested name, up to its "E".  All but the last one are substitutions. */
static cpp_id read_prefix(struct cpp_reader *reader, bool is_substitutable,
                          struct cpp_naming *naming)
{
    cpp_id name = 0;
    while (!reader->work->has_failed) {
        const char next = cpp_peek(reader), second = cpp_peek_second(reader);
        bool is_new = true;
        if (next == 'M' && name) {
            /* The variable whose initial value has a lambda in it is a scope like others. */
            reader->at++;
            continue;
        }
        if (name && next == 'I') {
            name = read_arguments_of(reader, name, naming);
        } else if (!name && next == 'T') {
            name = cpp_read_template_parameter(reader);
        } else if (!name && next == 'D' && (second == 't' || second == 'T')) {
            name = cpp_read_type(reader);
            is_new = false;
        } else if (!name && next == 'S') {
            reader->at++;
            name = read_substitution(reader);
            is_new = false;
        } else {
            name = cpp_read_unqualified_name(reader, name, naming);
        }
        if (cpp_peek(reader) == 'E')
            break;
        if (is_new && is_substitutable)
            (void)cpp_add_substitution(reader, name);
    }
    return name ? name : cpp_fail(reader);
}

/* A name inside a function, behind "Z". */
static cpp_id read_local_name(struct cpp_reader *reader, struct cpp_naming *naming)
{
    const cpp_id function = cpp_read_encoding(reader, false);
    uint32_t number;
    cpp_id name;
    if (!cpp_skip(reader, "E"))
        return cpp_fail(reader);
    reader->parts[function].drops_type = true;
    if (cpp_skip(reader, "s")) {
        name = cpp_join(reader, 0, "string literal", 0);
        *naming = (struct cpp_naming){ .arguments = 0 };
        if (!skip_discriminator(reader))
            return cpp_fail(reader);
    } else {
        const bool is_default = cpp_skip(reader, "d");
        if (is_default && !cpp_read_sequence(reader, &number))
            return cpp_fail(reader);
        const bool is_closure = cpp_peek(reader) == 'U';
        name = cpp_read_name(reader, false, naming);
        if (!is_closure && !skip_discriminator(reader))
            return cpp_fail(reader);
        if (is_default)
            name = cpp_join(
                reader, cpp_join(reader, 0, "{default arg#", cpp_number(reader, number + 1)),
                "}::", name);
    }
    naming->is_local = true;
    return cpp_join(reader, function, "::", name);
}

cpp_id cpp_read_name(struct cpp_reader *reader, bool is_type, struct cpp_naming *naming)
{
    bool is_new = true;
    cpp_id name;
    *naming = (struct cpp_naming){ .arguments = 0 };
    if (!demangle_enter(reader->work))
        return 0;
    if (cpp_skip(reader, "N")) {
        const cpp_id qualifiers = cpp_read_qualifiers(reader);
        const char *const reference = cpp_skip(reader, "R")   ? " &"
                                      : cpp_skip(reader, "O") ? " &&"
                                                              : NULL;
        name = read_prefix(reader, true, naming);
        naming->qualifiers =
            reference ? cpp_join(reader, qualifiers, reference, 0) : qualifiers;
        if (!cpp_skip(reader, "E"))
            name = cpp_fail(reader);
    } else if (cpp_skip(reader, "Z")) {
        name = read_local_name(reader, naming);
    } else {
        if (cpp_skip(reader, "St")) {
            name = cpp_read_unqualified_name(reader, cpp_text(reader, "std", 3), naming);
        } else if (cpp_skip(reader, "S")) {
            name = read_substitution(reader);
            is_new = false;
        } else {
            name = cpp_read_unqualified_name(reader, 0, naming);
        }
        if (cpp_peek(reader) == 'I') {
            if (is_new)
                (void)cpp_add_substitution(reader, name);
            name = read_arguments_of(reader, name, naming);
            is_new = true;
        }
    }
    if (is_type && is_new)
        (void)cpp_add_substitution(reader, name);
    demangle_leave(reader->work);
    return name;
}
