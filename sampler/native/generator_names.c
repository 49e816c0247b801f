#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/native/python_name_parts.h"

/* A generator has one wrapper with its scopes and number, or a few. */
enum { MAX_DEFINED = 1 << 18, MAX_WRAPPER_BYTES = 1 << 20, MAX_CANDIDATES = 64 };

static const char helper[] = "__mypyc_generator_helper__";

void generator_names_deinit(struct python_names *names)
{
    free(names->defined);
    free(names->wrappers);
    names->defined = NULL;
    names->wrappers = NULL;
    names->defined_count = names->defined_room = 0;
    names->wrapper_bytes = names->wrapper_room = 0;
}

size_t generator_names_bytes(const struct python_names *names)
{
    return names->defined_room * sizeof *names->defined + names->wrapper_room;
}

static uint32_t hash_of(const char *text, size_t length)
{
    return (uint32_t)hash_bytes(text, length, HASH_SEED);
}

static int compare_hashes(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool ends_with(struct name_part part, const char *end)
{
    const size_t bytes = strlen(end);
    return part.length >= bytes && memcmp(part.text + part.length - bytes, end, bytes) == 0;
}

void generator_names_note_defined(struct python_names *names, struct name_part symbol)
{
    names->has_generators = names->has_generators || ends_with(symbol, helper);
    if (names->defined_count == MAX_DEFINED ||
        !VEC_RESERVE(names->defined, names->defined_room, names->defined_count + 1))
        names->lacks_functions = true;
    else
        names->defined[names->defined_count++] = hash_of(symbol.text, symbol.length);
}

void generator_names_note_wrapper(struct python_names *names, struct name_part symbol)
{
    const size_t bytes = names->wrapper_bytes + symbol.length + 1;
    if (bytes > MAX_WRAPPER_BYTES ||
        !VEC_RESERVE(names->wrappers, names->wrapper_room, bytes)) {
        names->lacks_functions = true;
        return;
    }
    memcpy(names->wrappers + names->wrapper_bytes, symbol.text, symbol.length);
    names->wrappers[bytes - 1] = '\0';
    names->wrapper_bytes = bytes;
}

void generator_names_close(struct python_names *names)
{
    if (!names->has_generators || names->lacks_functions)
        generator_names_deinit(names);
    else if (names->defined_count)
        qsort(names->defined, names->defined_count, sizeof *names->defined, compare_hashes);
}

/* Is there a function (or, of a class, a method) of that name?  prefix: of its module. */
static bool is_defined(const struct python_names *names, struct name_part prefix,
                       struct name_part class, struct name_part function)
{
    char text[PYTHON_NAME_BYTES];
    const char *const between = class.length ? "___" : "";
    const int length =
        snprintf(text, sizeof text, "%.*s%.*s%s%.*s", (int)prefix.length, prefix.text,
                 (int)class.length, class.text, between, (int)function.length, function.text);
    size_t past;
    if (length <= 0 || (size_t)length >= sizeof text)
        return false;
    const uint32_t hash = hash_of(text, (size_t)length);
    LOWER_BOUND(past, names->defined_count, names->defined[past] < hash);
    return past < names->defined_count && names->defined[past] == hash;
}

/* "NAME_gen", and three underscores and a line if it is inside another function: its length without
 * the end.  0: it is none. */
static size_t without_end(struct name_part class)
{
    static const char end[] = "_gen", line[] = "___";
    struct name_part part = class;
    while (part.length && part.text[part.length - 1] >= '0' &&
           part.text[part.length - 1] <= '9')
        part.length--;
    if (part.length == class.length || !ends_with(part, line))
        part.length = class.length;
    else
        part.length -= sizeof line - 1;
    return ends_with(part, end) ? part.length - (sizeof end - 1) : 0;
}

bool generator_names_is_helper(struct name_part function)
{
    return function.length == sizeof helper - 1 &&
           memcmp(function.text, helper, function.length) == 0;
}

bool generator_names_append_mypyc(const struct python_names *names, struct name_part prefix,
                                  struct name_part class, struct python_name *out)
{
    const struct name_part whole = { class.text, without_end(class) };
    struct name_part method = { 0 }, owner = { 0 };
    size_t count = is_defined(names, prefix, owner, whole);
    if (!whole.length || names->lacks_functions)
        return false;
    for (size_t i = 1; i + 1 < whole.length; i++) {
        const struct name_part left = { whole.text, i },
                               right = { whole.text + i + 1, whole.length - i - 1 };
        if (whole.text[i] != '_' || !is_defined(names, prefix, right, left))
            continue;
        method = left;
        owner = right;
        count++;
    }
    /* A function inside another one has only its own name here. */
    if (count > 1 || !name_part_is_identifier(whole))
        return false;
    if (!owner.length)
        return python_name_append(out, whole);
    return python_name_append(out, owner) && python_name_append(out, method);
}

bool generator_names_is_body(struct name_part name)
{
    if (!name_part_skip(&name, "generator"))
        return false;
    while (name.length && *name.text >= '0' && *name.text <= '9') {
        name.text++;
        name.length--;
    }
    return name.length == 0;
}

/* Does the wrapper's name begin with the scopes and the number, and has a name after them? */
static bool has_number(const char *wrapper, struct name_part scopes, const char *number)
{
    const size_t digits = strlen(number);
    return strncmp(wrapper, scopes.text, scopes.length) == 0 &&
           strncmp(wrapper + scopes.length, number, digits) == 0 &&
           !(wrapper[scopes.length + digits] >= '0' && wrapper[scopes.length + digits] <= '9');
}

bool generator_names_append_cython(const struct python_names *names, struct name_part scopes,
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
        if (!has_number(wrapper, scopes, digits))
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
    return python_name_append(out, (struct name_part){ function, strlen(function) });
}
