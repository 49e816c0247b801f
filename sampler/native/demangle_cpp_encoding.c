#include <stdlib.h>

#include "sampler/base/scoped.h"
#include "sampler/native/demangle_cpp.h"

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

/* A special name: a table, thunk or guard that the compiler makes beside functions and variables. */
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
    if (cpp_skip(reader, "TC")) {
        /* A construction table: a class, an offset that is not written, and its base. */
        uint32_t offset;
        const cpp_id derived = cpp_read_type(reader);
        if (!cpp_read_number(reader, &offset) || !cpp_skip(reader, "_"))
            return cpp_fail(reader);
        return cpp_join(reader,
                        cpp_join(reader, 0, "construction vtable for ", cpp_read_type(reader)),
                        "-in-", derived);
    }
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

static cpp_id rule_encoding(struct cpp_reader *reader, bool is_top)
{
    const cpp_id outer = reader->arguments;
    const bool was_conversion = reader->is_conversion;
    if (!demangle_enter(reader->work))
        return 0;
    reader->is_conversion = false;
    const char next = cpp_peek(reader);
    cpp_id id;
    if (next == 'T' || next == 'G') {
        id = read_special(reader);
    } else {
        struct cpp_naming naming;
        id = cpp_read_name(reader, false, &naming);
        const char after = cpp_peek(reader);
        /* The type of a function follows its name. */
        if (after && after != 'E' && after != '.') {
            if (naming.arguments)
                reader->arguments = naming.arguments;
            cpp_resolve_pending(reader, reader->arguments);
            struct cpp_part type = { .kind = CPP_FUNCTION, .third = naming.qualifiers };
            if (naming.arguments && !naming.has_no_type)
                type.first = cpp_read_type(reader);
            type.second = cpp_read_parameters(reader);
            id = cpp_add(reader, &(struct cpp_part){ .kind = CPP_ENCODING,
                                                     .first = id,
                                                     .second = cpp_add(reader, &type),
                                                     .third = naming.arguments,
                                                     .drops_type = is_top || naming.is_local });
        }
    }
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
        if (!cpp_is_lower(second) && !cpp_is_digit(second) && second != '_')
            return cpp_fail(reader);
        reader->at += !cpp_is_digit(second);
        while (reader->at > begin &&
               (cpp_is_lower(cpp_peek(reader)) || cpp_is_digit(cpp_peek(reader)) ||
                cpp_peek(reader) == '_'))
            reader->at++;
        while (cpp_peek(reader) == '.' && cpp_is_digit(cpp_peek_second(reader)))
            for (reader->at++; cpp_is_digit(cpp_peek(reader));)
                reader->at++;
        id = cpp_join(reader,
                      cpp_join(reader, id, " [clone ",
                               cpp_text(reader, begin, (size_t)(reader->at - begin))),
                      "]", 0);
    }
    return id;
}

static const struct cpp_rules rules = {
    .encoding = rule_encoding,
    .type = cpp_rule_type,
    .parameters = cpp_rule_parameters,
    .template_parameter = cpp_rule_template_parameter,
    .qualifiers = cpp_rule_qualifiers,
    .arguments = cpp_rule_arguments,
    .argument = cpp_rule_argument,
    .expression = cpp_rule_expression,
};

bool demangle_cpp(struct demangle_work *work, const char *mangled, size_t length)
{
    /* Most names have fewer parts than bytes. */
    const size_t room = 64 + 4 * length;
    struct cpp_reader reader = { .work = work,
                                 .rules = &rules,
                                 .at = mangled,
                                 .end = mangled + length,
                                 .count = 1,
                                 .room = room < CPP_MAX_PARTS ? (uint32_t)room : CPP_MAX_PARTS,
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
