#include "sampler/native/demangle_cpp.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/scoped.h"

bool cpp_skip(struct cpp_reader *reader, const char *text)
{
    const size_t bytes = strlen(text);
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, text, bytes) != 0)
        return false;
    reader->at += bytes;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

bool cpp_read_number(struct cpp_reader *reader, uint32_t *out)
{
    static const uint32_t most = 1 << 24;
    const char *const begin = reader->at;
    *out = 0;
    for (; is_digit(cpp_peek(reader)) && *out < most; reader->at++)
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

/* What GCC calls a namespace without a name. */
static bool is_anonymous(const char *name, size_t bytes)
{
    static const char prefix[] = "_GLOBAL_";
    const size_t length = sizeof prefix - 1;
    return bytes >= length + 2 && memcmp(name, prefix, length) == 0 &&
           strchr("._$", name[length]) && name[length + 1] == 'N';
}

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
    return cpp_simple(reader, is_anonymous(name, bytes)
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

/* Parameters of a conversion operator's type stand for arguments that are behind the operator. */
static void resolve_pending(struct cpp_reader *reader, cpp_id arguments)
{
    for (uint32_t i = 0; i < reader->pending_count; i++) {
        struct cpp_part *const parameter = &reader->parts[reader->pending[i]];
        parameter->first = cpp_item(reader->work, reader->parts, arguments, parameter->number);
        parameter->is_fixed = true;
    }
    reader->pending_count = 0;
}

static cpp_id read_conversion(struct cpp_reader *reader)
{
    const bool was_conversion = reader->is_conversion;
    reader->is_conversion = true;
    const cpp_id type = cpp_read_type(reader);
    reader->is_conversion = was_conversion;
    return cpp_join(reader, 0, "operator ", type);
}

static cpp_id read_operator_name(struct cpp_reader *reader)
{
    char code[3];
    unsigned operands;
    if (cpp_skip(reader, "cv"))
        return read_conversion(reader);
    if (cpp_peek(reader) == 'v' && is_digit(cpp_peek_second(reader))) {
        reader->at += 2;
        return cpp_join(reader, 0, "operator ", read_identifier(reader));
    }
    const char *const text = cpp_read_operator(reader, code, &operands);
    if (!text)
        return cpp_fail(reader);
    if (strcmp(code, "li") == 0)
        return cpp_join(reader, 0, "operator\"\" ", read_identifier(reader));
    const size_t bytes = strlen(text);
    return cpp_join(reader, 0, is_lower(*text) ? "operator " : "operator",
                    cpp_text(reader, text, bytes - (text[bytes - 1] == ' ')));
}

/* Constructors and destructors of the class whose name was read last. */
static cpp_id read_structor(struct cpp_reader *reader)
{
    const bool is_destructor = cpp_skip(reader, "D");
    const bool is_inherited = !is_destructor && cpp_skip(reader, "C") && cpp_skip(reader, "I");
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

static bool has_lambda_parameter(const struct cpp_reader *reader)
{
    const char second = cpp_peek_second(reader);
    return cpp_peek(reader) == 'T' && second && strchr("ynpt", second);
}

/* "<typename $T0>" of a generic lambda, and the names of its parameters.  0: it has none. */
static cpp_id read_lambda_head(struct cpp_reader *reader, cpp_id *names_out)
{
    cpp_id first = 0, last = 0, last_name = 0;
    *names_out = 0;
    for (uint32_t i = 0; has_lambda_parameter(reader) && !reader->work->has_failed; i++) {
        const char *letter = "";
        const cpp_id kind = read_lambda_parameter(reader, &letter);
        const cpp_id name = cpp_join(reader, 0, letter, cpp_number(reader, i));
        (void)cpp_append(reader, names_out, &last_name, name);
        (void)cpp_append(reader, &first, &last, cpp_join(reader, kind, " ", name));
    }
    return first ? cpp_join(reader, cpp_join(reader, 0, "<", first), ">", 0) : 0;
}

static cpp_id read_lambda(struct cpp_reader *reader)
{
    struct cpp_part lambda = { .kind = CPP_LAMBDA };
    const cpp_id outer = reader->arguments;
    uint32_t number;
    reader->arguments = 0;
    const cpp_id head = read_lambda_head(reader, &lambda.second);
    lambda.first = cpp_read_parameters(reader);
    reader->arguments = outer;
    if (!cpp_skip(reader, "E") || !cpp_read_sequence(reader, &number))
        return cpp_fail(reader);
    const cpp_id begin =
        cpp_join(reader, cpp_join(reader, 0, "{lambda", head), "(", cpp_add(reader, &lambda));
    return cpp_join(reader, begin, ")#",
                    cpp_join(reader, cpp_number(reader, number + 1), "}", 0));
}

static cpp_id read_unnamed(struct cpp_reader *reader)
{
    uint32_t number;
    if (!cpp_read_sequence(reader, &number))
        return cpp_fail(reader);
    return cpp_add_substitution(
        reader, cpp_join(reader, 0, "{unnamed type#",
                         cpp_join(reader, cpp_number(reader, number + 1), "}", 0)));
}

static cpp_id read_binding(struct cpp_reader *reader)
{
    cpp_id first = 0, last = 0;
    while (!reader->work->has_failed && !cpp_skip(reader, "E"))
        (void)cpp_append(reader, &first, &last, cpp_read_source_name(reader));
    return first ? cpp_join(reader, cpp_join(reader, 0, "[", first), "]", 0) : cpp_fail(reader);
}

static cpp_id read_unqualified(struct cpp_reader *reader, struct cpp_naming *naming)
{
    const char next = cpp_peek(reader);
    if (is_digit(next))
        return cpp_read_source_name(reader);
    if (is_lower(next)) {
        naming->has_no_type = next == 'c' && cpp_peek_second(reader) == 'v';
        return read_operator_name(reader);
    }
    if (cpp_skip(reader, "DC"))
        return read_binding(reader);
    if (next == 'C' || next == 'D') {
        naming->has_no_type = true;
        return read_structor(reader);
    }
    if (cpp_skip(reader, "L")) {
        const cpp_id name = cpp_read_source_name(reader);
        return skip_discriminator(reader) ? name : cpp_fail(reader);
    }
    if (cpp_skip(reader, "Ul"))
        return read_lambda(reader);
    if (cpp_skip(reader, "Ut"))
        return read_unnamed(reader);
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
    if (!is_digit(cpp_peek(reader)) && cpp_peek(reader) != '_' &&
        !(cpp_peek(reader) >= 'A' && cpp_peek(reader) <= 'Z'))
        return read_standard(reader);
    for (bool is_first = true; !cpp_skip(reader, "_"); is_first = false) {
        const char c = cpp_peek(reader);
        number = is_first ? 0 : number;
        if (is_digit(c))
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

/* The same of a name. */
static cpp_id read_arguments_of(struct cpp_reader *reader, cpp_id scope,
                                struct cpp_naming *naming)
{
    const cpp_id id = cpp_read_template(reader, scope);
    naming->arguments = id ? reader->parts[id].second : 0;
    if (naming->has_no_type)
        resolve_pending(reader, naming->arguments);
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

/* Behind "N". */
static cpp_id read_nested_name(struct cpp_reader *reader, struct cpp_naming *naming)
{
    const cpp_id qualifiers = cpp_read_qualifiers(reader);
    const char *const reference = cpp_skip(reader, "R")   ? " &"
                                  : cpp_skip(reader, "O") ? " &&"
                                                          : NULL;
    const cpp_id name = read_prefix(reader, true, naming);
    naming->qualifiers = reference ? cpp_join(reader, qualifiers, reference, 0) : qualifiers;
    return cpp_skip(reader, "E") ? name : cpp_fail(reader);
}

/* Behind "Z": something inside a function. */
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
        name = read_nested_name(reader, naming);
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

/* "h_", or "v", a number, "_", a number and "_": they are not written. */
static bool skip_offset(struct cpp_reader *reader)
{
    uint32_t number;
    const bool is_virtual = cpp_skip(reader, "v");
    if (!is_virtual && !cpp_skip(reader, "h"))
        return false;
    for (int i = 0; i <= is_virtual; i++) {
        (void)cpp_skip(reader, "n");
        if (!cpp_read_number(reader, &number) || !cpp_skip(reader, "_"))
            return false;
    }
    return true;
}

/* Behind "TC": a class, an offset that is not written, and its base. */
static cpp_id read_construction(struct cpp_reader *reader)
{
    uint32_t offset;
    const cpp_id derived = cpp_read_type(reader);
    if (!cpp_read_number(reader, &offset) || !cpp_skip(reader, "_"))
        return cpp_fail(reader);
    return cpp_join(reader,
                    cpp_join(reader, 0, "construction vtable for ", cpp_read_type(reader)),
                    "-in-", derived);
}

static cpp_id read_temporary(struct cpp_reader *reader)
{
    struct cpp_naming naming;
    uint32_t number = 0;
    const cpp_id name = cpp_read_name(reader, false, &naming);
    (void)cpp_read_number(reader, &number);
    (void)cpp_skip(reader, "_");
    return cpp_join(reader,
                    cpp_join(reader, 0, "reference temporary #", cpp_number(reader, number)),
                    " for ", name);
}

/* What the compiler makes beside functions and variables: tables, thunks, guards. */
static cpp_id read_special(struct cpp_reader *reader)
{
    enum of { OF_TYPE, OF_NAME, OF_ENCODING, OF_ARGUMENT };
    static const struct {
        const char *code, *text;
        enum of of;
        int offsets;
    } kinds[] = {
        { "TV", "vtable for ", OF_TYPE, 0 },
        { "TT", "VTT for ", OF_TYPE, 0 },
        { "TI", "typeinfo for ", OF_TYPE, 0 },
        { "TS", "typeinfo name for ", OF_TYPE, 0 },
        { "TF", "typeinfo fn for ", OF_TYPE, 0 },
        { "TH", "TLS init function for ", OF_NAME, 0 },
        { "TW", "TLS wrapper function for ", OF_NAME, 0 },
        { "TA", "template parameter object for ", OF_ARGUMENT, 0 },
        { "Tc", "covariant return thunk to ", OF_ENCODING, 2 },
        { "GV", "guard variable for ", OF_NAME, 0 },
        { "GA", "hidden alias for ", OF_ENCODING, 0 },
        { "GTt", "transaction clone for ", OF_ENCODING, 0 },
        { "GTn", "non-transaction clone for ", OF_ENCODING, 0 },
    };
    struct cpp_naming naming;
    if (cpp_skip(reader, "TC"))
        return read_construction(reader);
    if (cpp_skip(reader, "GR"))
        return read_temporary(reader);
    if (cpp_peek(reader) == 'T' &&
        (cpp_peek_second(reader) == 'h' || cpp_peek_second(reader) == 'v')) {
        const bool is_virtual = cpp_peek_second(reader) == 'v';
        reader->at++;
        if (!skip_offset(reader))
            return cpp_fail(reader);
        return cpp_join(reader, 0, is_virtual ? "virtual thunk to " : "non-virtual thunk to ",
                        cpp_read_encoding(reader, true));
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!cpp_skip(reader, kinds[i].code))
            continue;
        for (int offset = 0; offset < kinds[i].offsets; offset++)
            if (!skip_offset(reader))
                return cpp_fail(reader);
        switch (kinds[i].of) {
        case OF_TYPE: return cpp_join(reader, 0, kinds[i].text, cpp_read_type(reader));
        case OF_NAME:
            return cpp_join(reader, 0, kinds[i].text, cpp_read_name(reader, false, &naming));
        case OF_ENCODING:
            return cpp_join(reader, 0, kinds[i].text, cpp_read_encoding(reader, true));
        case OF_ARGUMENT: return cpp_join(reader, 0, kinds[i].text, cpp_read_argument(reader));
        }
    }
    return cpp_fail(reader);
}

/* A name and, of a function, its type. */
static cpp_id read_function(struct cpp_reader *reader, bool is_top)
{
    struct cpp_naming naming;
    const cpp_id name = cpp_read_name(reader, false, &naming);
    const char next = cpp_peek(reader);
    if (!next || next == 'E' || next == '.')
        return name;
    if (naming.arguments)
        reader->arguments = naming.arguments;
    resolve_pending(reader, reader->arguments);
    struct cpp_part type = { .kind = CPP_FUNCTION, .third = naming.qualifiers };
    if (naming.arguments && !naming.has_no_type)
        type.first = cpp_read_type(reader);
    type.second = cpp_read_parameters(reader);
    return cpp_add(reader, &(struct cpp_part){ .kind = CPP_ENCODING,
                                               .first = name,
                                               .second = cpp_add(reader, &type),
                                               .third = naming.arguments,
                                               .drops_type = is_top || naming.is_local });
}

cpp_id cpp_read_encoding(struct cpp_reader *reader, bool is_top)
{
    const cpp_id outer = reader->arguments;
    const bool was_conversion = reader->is_conversion;
    if (!demangle_enter(reader->work))
        return 0;
    reader->is_conversion = false;
    const char next = cpp_peek(reader);
    const cpp_id id =
        next == 'T' || next == 'G' ? read_special(reader) : read_function(reader, is_top);
    reader->arguments = outer;
    reader->is_conversion = was_conversion;
    demangle_leave(reader->work);
    return id;
}

/* ".part.0", ".constprop.1": what GCC appends to parts and copies of functions. */
static cpp_id read_clones(struct cpp_reader *reader, cpp_id id)
{
    while (!reader->work->has_failed && cpp_peek(reader) == '.') {
        const char *const begin = reader->at, second = cpp_peek_second(reader);
        if (!is_lower(second) && !is_digit(second) && second != '_')
            return cpp_fail(reader);
        reader->at += !is_digit(second);
        while (reader->at > begin && (is_lower(cpp_peek(reader)) ||
                                      is_digit(cpp_peek(reader)) || cpp_peek(reader) == '_'))
            reader->at++;
        while (cpp_peek(reader) == '.' && is_digit(cpp_peek_second(reader)))
            for (reader->at++; is_digit(cpp_peek(reader));)
                reader->at++;
        id = cpp_join(reader,
                      cpp_join(reader, id, " [clone ",
                               cpp_text(reader, begin, (size_t)(reader->at - begin))),
                      "]", 0);
    }
    return id;
}

/* Most names have fewer parts than bytes. */
static uint32_t room_for(size_t length)
{
    const size_t room = 64 + 4 * length;
    return room < CPP_MAX_PARTS ? (uint32_t)room : CPP_MAX_PARTS;
}

bool demangle_cpp(struct demangle_work *work, const char *mangled, size_t length)
{
    struct cpp_reader reader = { .work = work,
                                 .at = mangled,
                                 .end = mangled + length,
                                 .count = 1,
                                 .room = room_for(length),
                                 .substitution_room = (uint32_t)length };
    if (!cpp_skip(&reader, "_Z"))
        return false;
    SCOPED_FREE struct cpp_part *parts = malloc(reader.room * sizeof *parts);
    SCOPED_FREE cpp_id *substitutions = malloc(length * sizeof *substitutions);
    if (!parts || !substitutions)
        return false;
    parts[0] = (struct cpp_part){ .kind = CPP_JOINED, .text = "" };
    reader.parts = parts;
    reader.substitutions = substitutions;
    const cpp_id id = read_clones(&reader, cpp_read_encoding(&reader, true));
    if (reader.at != reader.end || work->has_failed)
        return false;
    cpp_write(work, parts, id);
    return !work->has_failed && work->length > 0;
}
