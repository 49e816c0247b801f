#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/native/name_part.h"

/* Facts whose places follow one another: more of them are a table that was made to be slow. */
enum { MAX_DIGITS = 4, FIRST_FACTS = 256, MAX_PROBES = 128 };
/* A generator has one wrapper with its scopes and number, or a few. */
enum { MAX_WRAPPER_BYTES = 1 << 20, MAX_CANDIDATES = 64 };

/* A fact that names of the file show, by the hash of a text. */
struct cython_fact {
    uint64_t key;  /* 0: free */
    uint64_t rest; /* of the first name in this scope: the hash of what follows */
    bool is_certain;
};

enum form {
    FORM_CDEF,    /* __pyx_f_: scopes, name */
    FORM_WORK,    /* __pyx_pf_: scopes, perhaps a number, name */
    FORM_WRAPPER, /* __pyx_pw_: scopes, number, name */
    FORM_GET,     /* __pyx_getprop_: scopes, name */
    FORM_SET,
    FORM_GENERATOR, /* __pyx_gb_: scopes, number, "generator", perhaps a number */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies of a function for several types have numbers before their names: "__pyx_fuse_0_1". */
static void skip_fuse(struct name_part *symbol)
{
    struct name_part rest = *symbol;
    size_t at = 0;
    if (!name_part_skip(&rest, "__pyx_fuse_"))
        return;
    while (at < rest.length &&
           (is_digit(rest.text[at]) ||
            (rest.text[at] == '_' && at + 1 < rest.length && is_digit(rest.text[at + 1]))))
        at++;
    *symbol = (struct name_part){ rest.text + at, rest.length - at };
}

static bool take_form(struct name_part *symbol, enum form *out)
{
    static const struct {
        const char *prefix;
        enum form form;
    } forms[] = { { "__pyx_f_", FORM_CDEF },      { "__pyx_pf_", FORM_WORK },
                  { "__pyx_pw_", FORM_WRAPPER },  { "__pyx_getprop_", FORM_GET },
                  { "__pyx_setprop_", FORM_SET }, { "__pyx_gb_", FORM_GENERATOR } };
    skip_fuse(symbol);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (name_part_skip(symbol, forms[i].prefix)) {
            *out = forms[i].form;
            return symbol->length > 0;
        }
    return false;
}

static bool has_numbers(enum form form)
{
    return form == FORM_WORK || form == FORM_WRAPPER || form == FORM_GENERATOR;
}

static bool starts_with_digit(struct name_part part)
{
    return part.length && is_digit(*part.text);
}

/* false: no number of at most MAX_DIGITS is next. */
static bool take_number(struct name_part *part, size_t *out)
{
    size_t digits = 0;
    *out = 0;
    while (digits < part->length && is_digit(part->text[digits])) {
        if (++digits > MAX_DIGITS)
            return false;
        *out = *out * 10 + (size_t)(part->text[digits - 1] - '0');
    }
    part->text += digits;
    part->length -= digits;
    return digits > 0;
}

/* A module that all Cython files with memory views have; its name has a dot. */
static const char view_name[] = "View.MemoryView";
static const char lambda_prefix[] = "__pyx_lambda_funcdef_";

/* May this be all of a name after its scopes?  Wrappers have a number there, except those of lambdas. */
static bool may_end(struct name_part part, enum form form)
{
    struct name_part lambda = part;
    return name_part_is_identifier(part) &&
           (form != FORM_WRAPPER || name_part_skip(&lambda, lambda_prefix));
}

/* A scope of `bytes` and an underscore are next; what follows may be scopes and a name.  Skips it. */
static bool take_scope(struct name_part *part, size_t bytes, enum form form,
                       struct name_part *scope_out)
{
    static const char view[] = "View_dot_MemoryView_";
    if (bytes == sizeof view_name - 1 && name_part_skip(part, view)) {
        *scope_out = (struct name_part){ view_name, bytes };
        return true;
    }
    if (bytes == 0 || bytes + 1 >= part->length || part->text[bytes] != '_' ||
        !name_part_is_identifier((struct name_part){ part->text, bytes }))
        return false;
    const struct name_part rest = { part->text + bytes + 1, part->length - bytes - 1 };
    if (!starts_with_digit(rest) && !may_end(rest, form))
        return false;
    *scope_out = (struct name_part){ part->text, bytes };
    *part = rest;
    return true;
}

static uint64_t hash_of(const char *begin, const char *end, char kind)
{
    const uint64_t hash = hash_bytes(begin, (size_t)(end - begin), HASH_SEED);
    return hash_bytes(&kind, 1, hash) | 1;
}

/* The place of a key, or a free one.  NULL: there is none near where it should be. */
static struct cython_fact *find_fact(struct cython_fact *facts, size_t room, uint64_t key)
{
    const size_t first = hash_mix(key, 0);
    for (size_t i = 0; i < MAX_PROBES && i < room; i++) {
        struct cython_fact *const fact = &facts[(first + i) & (room - 1)];
        if (fact->key == key || fact->key == 0)
            return fact;
    }
    return NULL;
}

static bool grow_facts(struct python_names *names)
{
    const size_t room = names->fact_room ? 2 * names->fact_room : FIRST_FACTS;
    struct cython_fact *const facts =
        room <= 2 * PYTHON_NAMES_MAX_SCOPES ? calloc(room, sizeof *facts) : NULL;
    bool is_whole = facts != NULL;
    for (size_t i = 0; i < names->fact_room && is_whole; i++) {
        const struct cython_fact fact = names->facts[i];
        struct cython_fact *const place = fact.key ? find_fact(facts, room, fact.key) : facts;
        is_whole = place != NULL;
        if (place && fact.key)
            *place = fact;
    }
    if (!is_whole) {
        free(facts);
        return false;
    }
    free(names->facts);
    names->facts = facts;
    names->fact_room = room;
    return true;
}

/* rest 0: it is certain; otherwise it is if another rest is noted too. */
static void note_fact(struct python_names *names, uint64_t key, uint64_t rest)
{
    const bool has_room = 2 * names->fact_count < names->fact_room || grow_facts(names);
    struct cython_fact *const fact =
        has_room ? find_fact(names->facts, names->fact_room, key) : NULL;
    if (!fact) {
        names->is_unclear = true;
        return;
    }
    if (!fact->key) {
        *fact = (struct cython_fact){ .key = key, .rest = rest };
        names->fact_count++;
    }
    fact->is_certain = fact->is_certain || rest == 0 || rest != fact->rest;
}

size_t cython_bytes(const struct python_names *names)
{
    return names->fact_room * sizeof *names->facts + names->wrapper_room;
}

static bool is_certain(const struct python_names *names, uint64_t key)
{
    const struct cython_fact *const fact =
        names->facts ? find_fact(names->facts, names->fact_room, key) : NULL;
    return fact && fact->key == key && fact->is_certain;
}

enum { KIND_SCOPE = 's', KIND_WRAPPER = 'w' };

/* "__pyx_tp_new_" and the scopes of a class, without a length before its name. */
static void note_class(struct python_names *names, struct name_part symbol)
{
    char text[PYTHON_NAME_BYTES];
    const char *const begin = symbol.text;
    struct name_part scope;
    size_t number;
    while (take_number(&symbol, &number) && take_scope(&symbol, number, FORM_CDEF, &scope))
        continue;
    const size_t scopes = (size_t)(symbol.text - begin);
    if (!name_part_is_identifier(symbol) ||
        scopes + symbol.length + MAX_DIGITS + 2 > sizeof text)
        return;
    memcpy(text, begin, scopes);
    size_t length = scopes;
    if (symbol.length >= 100)
        return;
    if (symbol.length >= 10)
        text[length++] = (char)('0' + symbol.length / 10);
    text[length++] = (char)('0' + symbol.length % 10);
    memcpy(text + length, symbol.text, symbol.length);
    length += symbol.length;
    text[length++] = '_';
    note_fact(names, hash_of(text, text + length, KIND_SCOPE), 0);
}

void cython_note(struct python_names *names, struct name_part symbol)
{
    enum form form;
    if (symbol.length < 6 || memcmp(symbol.text, "__pyx_", 6) != 0)
        return;
    if (name_part_skip(&symbol, "__pyx_tp_new_")) {
        note_class(names, symbol);
        return;
    }
    if (!take_form(&symbol, &form))
        return;
    if (form == FORM_WRAPPER) {
        note_fact(names, hash_of(symbol.text, symbol.text + symbol.length, KIND_WRAPPER), 0);
        /* Generators are named by wrappers. */
        const size_t bytes = names->wrapper_bytes + symbol.length + 1;
        if (bytes > MAX_WRAPPER_BYTES ||
            !VEC_RESERVE(names->wrappers, names->wrapper_room, bytes)) {
            names->lacks_functions = true;
        } else {
            memcpy(names->wrappers + names->wrapper_bytes, symbol.text, symbol.length);
            names->wrappers[bytes - 1] = '\0';
            names->wrapper_bytes = bytes;
        }
    }
    names->has_generators = names->has_generators || form == FORM_GENERATOR;

    /* Every scope that the name may have is noted.  A number is unique in its scope, so if two names have it, it is the
     * length of a scope.  The text after the last scope of a generator has a form of its own. */
    const char *const begin = symbol.text, *const end = symbol.text + symbol.length;
    const bool may_be_unclear = has_numbers(form) && form != FORM_GENERATOR;
    struct name_part scope;
    size_t number;
    while (take_number(&symbol, &number) && take_scope(&symbol, number, form, &scope)) {
        const bool is_first = scope.text == begin + 1 || scope.text == begin + 2;
        const uint64_t rest = is_first || !may_be_unclear ? 0 : hash_of(symbol.text, end, 'r');
        note_fact(names, hash_of(begin, symbol.text, KIND_SCOPE), rest);
    }
}

static void drop_wrappers(struct python_names *names)
{
    free(names->wrappers);
    names->wrappers = NULL;
    names->wrapper_bytes = names->wrapper_room = 0;
}

void cython_close(struct python_names *names)
{
    if (!names->has_generators || names->lacks_functions)
        drop_wrappers(names);
}

void cython_deinit(struct python_names *names)
{
    drop_wrappers(names);
    free(names->facts);
}

/* Is it what Cython calls the body of a generator? */
static bool is_body(struct name_part name)
{
    if (!name_part_skip(&name, "generator"))
        return false;
    while (starts_with_digit(name)) {
        name.text++;
        name.length--;
    }
    return name.length == 0;
}

/* Is there a wrapper of the same name, with the next number? */
static bool has_wrapper(const struct python_names *names, const char *begin,
                        const char *number_at, size_t number, struct name_part name)
{
    char text[PYTHON_NAME_BYTES];
    const size_t before = (size_t)(number_at - begin);
    if (before + MAX_DIGITS + 1 + name.length >= sizeof text)
        return false;
    memcpy(text, begin, before);
    size_t length = before;
    char digits[MAX_DIGITS + 2];
    size_t count = 0;
    for (size_t value = number + 1; value && count < sizeof digits; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    while (count)
        text[length++] = digits[--count];
    memcpy(text + length, name.text, name.length);
    return is_certain(names, hash_of(text, text + length + name.length, KIND_WRAPPER));
}

enum reading { READ_SCOPE, READ_FUNCTION, READ_UNCLEAR };

/* A name while it is decoded. */
struct decoding {
    const struct python_names *names;
    enum form form;
    const char *begin;
    struct name_part number; /* of the function; empty: it has none */
    bool is_inside; /* the scopes so far may hold functions: the module is among them */
};

/* The meaning of a number and the text after it. */
static enum reading read_number(const struct decoding *decoding, const char *number_at,
                                size_t number, struct name_part after)
{
    const char *const begin = decoding->begin;
    struct name_part rest = after, scope;
    const bool may_be_scope = take_scope(&rest, number, decoding->form, &scope);
    const bool may_be_function = decoding->is_inside && has_numbers(decoding->form) &&
                                 name_part_is_identifier(after) &&
                                 (decoding->form != FORM_GENERATOR || is_body(after));
    const bool is_scope =
        number < after.length &&
        is_certain(decoding->names, hash_of(begin, after.text + number + 1, KIND_SCOPE));
    if (may_be_scope && (is_scope || !may_be_function))
        return READ_SCOPE;
    if (!may_be_function || is_scope)
        return READ_UNCLEAR;
    return !may_be_scope || (decoding->form == FORM_WORK &&
                             has_wrapper(decoding->names, begin, number_at, number, after))
               ? READ_FUNCTION
               : READ_UNCLEAR;
}

/* Appends the name of a function without what Cython puts before it. */
static bool append_function(struct python_name *out, struct name_part name, enum form form)
{
    static const char lambda[] = "<lambda>", get[] = "__get__", set[] = "__set__";
    struct name_part rest = name;
    if (name_part_skip(&rest, lambda_prefix))
        return name_part_append(out, (struct name_part){ lambda, sizeof lambda - 1 });
    skip_fuse(&name);
    if (!name_part_is_identifier(name) || !name_part_append(out, name))
        return false;
    if (form == FORM_GET || form == FORM_SET)
        return name_part_append(
            out, (struct name_part){ form == FORM_GET ? get : set, sizeof get - 1 });
    return true;
}

static bool is_text(struct name_part part, const char *text)
{
    return strlen(text) == part.length && memcmp(text, part.text, part.length) == 0;
}

/* Reads scopes up to the name of the function, or its number. */
static bool decode_scopes(struct decoding *decoding, struct name_part *symbol,
                          struct python_name *out)
{
    const char *const module = python_names_only_module(decoding->names);
    struct name_part scope;
    size_t number;
    while (starts_with_digit(*symbol)) {
        const char *const number_at = symbol->text;
        if (!take_number(symbol, &number))
            return false;
        switch (read_number(decoding, number_at, number, *symbol)) {
        case READ_UNCLEAR: return false;
        case READ_FUNCTION:
            decoding->number =
                (struct name_part){ number_at, (size_t)(symbol->text - number_at) };
            return true;
        case READ_SCOPE:
            if (!take_scope(symbol, number, decoding->form, &scope) ||
                !name_part_append(out, scope))
                return false;
            /* The last part of the module's name is the one of PyInit_.  If the next scope has that name too, it may be
             * either. */
            decoding->is_inside = decoding->is_inside || !module || is_text(scope, view_name);
            if (module && is_text(scope, module)) {
                decoding->is_inside = true;
                out->module_bytes =
                    out->module_bytes ? UINT32_MAX : (uint32_t)strlen(out->text);
            }
            break;
        }
    }
    return true;
}

/* Appends the function of a body, which is in `scopes` and has a number; `out` has the scopes.  false: it is
 * unclear. */
static bool append_function_of(const struct python_names *names, struct name_part scopes,
                               size_t number, struct python_name *out)
{
    static const char expression[] = "<genexpr>";
    char digits[24] = "", symbol[PYTHON_NAME_BYTES];
    const size_t length = strlen(out->text);
    struct python_name found = { 0 };
    bool is_found = false;
    size_t candidates = 0;
    if (names->lacks_functions || number == 0)
        return false;
    if (number > 1)
        snprintf(digits, sizeof digits, "%zu", number - 1);
    for (size_t at = 0; at < names->wrapper_bytes; at += strlen(names->wrappers + at) + 1) {
        const char *const wrapper = names->wrappers + at;
        struct python_name name = { 0 };
        const char *const at_number = wrapper + scopes.length;
        if (strncmp(wrapper, scopes.text, scopes.length) != 0 ||
            strncmp(at_number, digits, strlen(digits)) != 0 ||
            is_digit(at_number[strlen(digits)]))
            continue;
        const int bytes = snprintf(symbol, sizeof symbol, "__pyx_pw_%s", wrapper);
        if (++candidates > MAX_CANDIDATES || bytes <= 0 || (size_t)bytes >= sizeof symbol ||
            !cython_decode(names, (struct name_part){ symbol, (size_t)bytes }, &name))
            return false;
        /* The number may be the length of a scope. */
        if (strncmp(name.text, out->text, length) != 0 || name.text[length] != '.' ||
            strchr(name.text + length + 1, '.'))
            continue;
        if (is_found && strcmp(found.text, name.text) != 0)
            return false;
        is_found = true;
        found = name;
    }
    const char *const function = is_found ? found.text + length + 1 : expression;
    return name_part_append(out, (struct name_part){ function, strlen(function) });
}

static bool append_generator(const struct decoding *decoding, struct name_part symbol,
                             struct python_name *out)
{
    struct name_part digits = decoding->number;
    const struct name_part scopes = { decoding->begin,
                                      (size_t)(digits.text - decoding->begin) };
    size_t number;
    return digits.length && take_number(&digits, &number) && is_body(symbol) &&
           append_function_of(decoding->names, scopes, number, out);
}

bool cython_decode(const struct python_names *names, struct name_part symbol,
                   struct python_name *out)
{
    struct decoding decoding = { .names = names };
    if (!name_part_is_identifier(symbol) || !take_form(&symbol, &decoding.form) ||
        !starts_with_digit(symbol))
        return false;
    decoding.begin = symbol.text;
    if (!decode_scopes(&decoding, &symbol, out))
        return false;
    if (decoding.form == FORM_GENERATOR
            ? !append_generator(&decoding, symbol, out)
            : (!decoding.number.length && !may_end(symbol, decoding.form)) ||
                  !append_function(out, symbol, decoding.form))
        return false;
    out->compiler = COMPILER_CYTHON;
    out->is_wrapper = decoding.form == FORM_WRAPPER;
    out->module_bytes = out->module_bytes == UINT32_MAX ? 0 : out->module_bytes;
    return true;
}

bool cython_source(const char *library, unsigned which, char *out, size_t room)
{
    static const char *const ends[] = { ".pyx", ".py" };
    const char *const slash = strrchr(library, '/');
    if (!slash || which >= sizeof ends / sizeof *ends)
        return false;
    const size_t bytes = (size_t)(slash + 1 - library) + strcspn(slash + 1, ".");
    const int length = snprintf(out, room, "%.*s%s", (int)bytes, library, ends[which]);
    return length > 0 && (size_t)length < room;
}
