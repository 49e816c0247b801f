/*
 * demangle_cpp - shared by the files that demangle C++: the parts of a name.  demangle_cpp_encoding.c reads the name;
 * demangle_cpp_names.c, demangle_cpp_types.c and demangle_cpp_expressions.c read what is in it; demangle_cpp_write.c
 * writes it.
 *
 * A part refers to others by their ids.  A substitution is an id that several parts have, so the parts are no tree: the
 * text of a name may have any number of times as many parts as there are.
 *
 * Ownership: the reader's array.
 * Threads: one.
 * Limits: CPP_MAX_PARTS parts; those of demangle_work.
 * Source: the Itanium C++ ABI, chapter 5.1; the GNU tools (c++filt) write the same text.
 */
#ifndef SAMPLER_NATIVE_DEMANGLE_CPP_H
#define SAMPLER_NATIVE_DEMANGLE_CPP_H

#include "sampler/native/demangle_work.h"

typedef uint16_t cpp_id; /* 0: none */

enum { CPP_MAX_PARTS = 1 << 14, CPP_MAX_PENDING = 16 };

enum cpp_kind {
    CPP_JOINED, /* first, text, second */
    CPP_LIST, /* first, and what is behind it in the list: second; a list of nothing has no first */
    CPP_TEMPLATE, /* first<second> */
    CPP_PACK,     /* first: a list, one argument of a template */
    CPP_PARAMETER, /* of a template, its number; first: the argument that it stood for, 0: unknown */
    CPP_EXPANSION, /* first, for each item of the pack in it */
    CPP_COUNT,     /* items of the list first, whose packs are expanded */
    CPP_LAMBDA, /* first: parameters of a function; second: names of parameters of the template */
    CPP_FUNCTION, /* first(second) third: the result stands before the declarator, "const" last */
    CPP_ENCODING, /* a function: first is its name, second its type, third its template's arguments */
    CPP_QUALIFIED, /* type first, text, second */
    CPP_POINTER,   /* to type first: text; of a member of a class: second */
    CPP_ARRAY,     /* of type first, with the length second */
    CPP_OPERAND,   /* first, in parentheses unless it is simple */
    CPP_NUMBER     /* number */
};

struct cpp_part {
    const char *text;
    union {
        uint32_t text_bytes;
        uint32_t number;
    };
    cpp_id first, second, third;
    uint8_t kind;
    bool is_simple : 1;  /* needs no parentheses as an operand */
    bool is_fixed : 1;   /* CPP_PARAMETER: it stands for `first` everywhere */
    bool drops_type : 1; /* CPP_ENCODING: what it returns is not written */
};

struct cpp_reader;

/* The grammar is recursive, and its files are not: rules that those of other files need are found here. */
struct cpp_rules {
    cpp_id (*encoding)(struct cpp_reader *reader, bool is_top);
    cpp_id (*type)(struct cpp_reader *reader);
    cpp_id (*parameters)(struct cpp_reader *reader);
    cpp_id (*template_parameter)(struct cpp_reader *reader);
    cpp_id (*qualifiers)(struct cpp_reader *reader);
    cpp_id (*arguments)(struct cpp_reader *reader);
    cpp_id (*argument)(struct cpp_reader *reader);
    cpp_id (*expression)(struct cpp_reader *reader);
};

struct cpp_reader {
    struct demangle_work *work;
    const struct cpp_rules *rules;
    const char *at, *end;
    struct cpp_part *parts;
    uint32_t count, room;
    cpp_id *substitutions; /* as many as the name has bytes */
    uint32_t substitution_count, substitution_room;
    cpp_id arguments;                /* of the template that is being read; 0: none */
    cpp_id last_name;                /* of a class: what its constructors are called */
    cpp_id pending[CPP_MAX_PENDING]; /* parameters whose arguments are further on */
    uint32_t pending_count;
    bool is_conversion; /* the type of a conversion operator is being read */
};

/* How a name that was read ends. */
struct cpp_naming {
    cpp_id arguments;  /* of a template; 0: it ends otherwise */
    cpp_id qualifiers; /* of a member function; 0: none */
    bool has_no_type;  /* constructors, destructors and conversion operators return none */
    bool is_local;
};

/* The next character; 0: the end. */
static inline char cpp_peek(const struct cpp_reader *reader)
{
    return reader->at < reader->end ? *reader->at : '\0';
}

static inline char cpp_peek_second(const struct cpp_reader *reader)
{
    return reader->end - reader->at > 1 ? reader->at[1] : '\0';
}

static inline bool cpp_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool cpp_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline cpp_id cpp_read_encoding(struct cpp_reader *reader, bool is_top)
{
    return reader->rules->encoding(reader, is_top);
}

static inline cpp_id cpp_read_type(struct cpp_reader *reader)
{
    return reader->rules->type(reader);
}

static inline cpp_id cpp_read_parameters(struct cpp_reader *reader)
{
    return reader->rules->parameters(reader);
}

static inline cpp_id cpp_read_template_parameter(struct cpp_reader *reader)
{
    return reader->rules->template_parameter(reader);
}

/* Qualifiers of a function, from its innermost on; 0: none. */
static inline cpp_id cpp_read_qualifiers(struct cpp_reader *reader)
{
    return reader->rules->qualifiers(reader);
}

/* The arguments behind "I". */
static inline cpp_id cpp_read_arguments(struct cpp_reader *reader)
{
    return reader->rules->arguments(reader);
}

static inline cpp_id cpp_read_argument(struct cpp_reader *reader)
{
    return reader->rules->argument(reader);
}

static inline cpp_id cpp_read_expression(struct cpp_reader *reader)
{
    return reader->rules->expression(reader);
}

/* The rules of demangle_cpp_types.c and demangle_cpp_expressions.c. */
cpp_id cpp_rule_type(struct cpp_reader *reader);
cpp_id cpp_rule_parameters(struct cpp_reader *reader);
cpp_id cpp_rule_template_parameter(struct cpp_reader *reader);
cpp_id cpp_rule_qualifiers(struct cpp_reader *reader);
cpp_id cpp_rule_arguments(struct cpp_reader *reader);
cpp_id cpp_rule_argument(struct cpp_reader *reader);
cpp_id cpp_rule_expression(struct cpp_reader *reader);

/* Skips a text if it is next. */
bool cpp_skip(struct cpp_reader *reader, const char *text);
/* Reads digits; false: there are none, or the number is too large. */
bool cpp_read_number(struct cpp_reader *reader, uint32_t *out);
/* "_" is 0, "0_" is 1. */
bool cpp_read_sequence(struct cpp_reader *reader, uint32_t *out);

/* Each returns 0 once reading has failed. */
cpp_id cpp_fail(struct cpp_reader *reader);
cpp_id cpp_add(struct cpp_reader *reader, const struct cpp_part *part);
cpp_id cpp_join(struct cpp_reader *reader, cpp_id first, const char *text, cpp_id second);
cpp_id cpp_text(struct cpp_reader *reader, const char *text, size_t bytes);
cpp_id cpp_number(struct cpp_reader *reader, uint32_t number);
cpp_id cpp_simple(struct cpp_reader *reader, cpp_id id);
cpp_id cpp_add_substitution(struct cpp_reader *reader, cpp_id id);
/* Appends to a list whose last item is *last; both are 0 before the first one. */
bool cpp_append(struct cpp_reader *reader, cpp_id *first, cpp_id *last, cpp_id item);
cpp_id cpp_empty_list(struct cpp_reader *reader);

cpp_id cpp_read_source_name(struct cpp_reader *reader);
/* scope: 0 if it has none. */
cpp_id cpp_read_unqualified_name(struct cpp_reader *reader, cpp_id scope,
                                 struct cpp_naming *naming);
/* is_type: a class or an enumeration, which is a substitution from now on. */
cpp_id cpp_read_name(struct cpp_reader *reader, bool is_type, struct cpp_naming *naming);
/* Parameters of a conversion operator's type stand for arguments that are behind the operator. */
void cpp_resolve_pending(struct cpp_reader *reader, cpp_id arguments);
/* scope<arguments>, if "I" is next. */
cpp_id cpp_read_template(struct cpp_reader *reader, cpp_id scope);
/* The item of that number in a list; 0: there is none. */
cpp_id cpp_item(struct demangle_work *work, const struct cpp_part *parts, cpp_id list,
                uint32_t number);
/* The operator of two letters that is next; NULL: none.  operands 0 to 3. */
const char *cpp_read_operator(struct cpp_reader *reader, char code[3], unsigned *operands);

void cpp_write(struct demangle_work *work, const struct cpp_part *parts, cpp_id id);

#endif /* SAMPLER_NATIVE_DEMANGLE_CPP_H */
