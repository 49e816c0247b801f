#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/native/python_name_parts.h"

static const char separator[] = "___", escaped[] = "___3_";
enum { SEPARATOR_BYTES = sizeof separator - 1, ESCAPED_BYTES = sizeof escaped - 1 };
/* Of a module inside more packages only the first ones count. */
enum { MAX_PARTS = 16 };

struct python_module {
    char *name;         /* as in a symbol: parts with separators between them */
    const char *prefix; /* the end of the name that its functions have; a part of `name` */
    bool is_export;     /* of CPyInit_, so the name is whole; PyInit_ has its last part only */
};

void mypyc_deinit(struct python_names *names)
{
    for (size_t i = 0; i < names->module_count; i++)
        free(names->modules[i].name);
    free(names->modules);
}

size_t mypyc_bytes(const struct python_names *names)
{
    size_t bytes = names->module_room * sizeof *names->modules;
    for (size_t i = 0; i < names->module_count; i++)
        bytes += strlen(names->modules[i].name) + 1;
    return bytes;
}

void mypyc_note(struct python_names *names, struct name_part symbol)
{
    struct name_part function = symbol;
    if (name_part_skip(&function, "CPyDef_"))
        generator_names_note_defined(names, function);
    const bool is_export = name_part_skip(&symbol, "CPyInit_");
    if ((!is_export && !name_part_skip(&symbol, "PyInit_")) ||
        !name_part_is_identifier(symbol) || symbol.length >= PYTHON_NAME_BYTES)
        return;
    for (size_t i = 0; i < names->module_count; i++)
        if (names->modules[i].is_export == is_export &&
            strlen(names->modules[i].name) == symbol.length &&
            memcmp(names->modules[i].name, symbol.text, symbol.length) == 0)
            return;
    char *const name = malloc(symbol.length + 1);
    if (!name || names->module_count == PYTHON_NAMES_MAX_MODULES ||
        !VEC_RESERVE(names->modules, names->module_room, names->module_count + 1)) {
        free(name);
        names->is_unclear = true;
        return;
    }
    memcpy(name, symbol.text, symbol.length);
    name[symbol.length] = '\0';
    names->has_exports = names->has_exports || is_export;
    names->modules[names->module_count++] = (struct python_module){ name, name, is_export };
}

const char *python_names_only_module(const struct python_names *names)
{
    return names->module_count == 1 && !names->has_exports ? names->modules[0].name : NULL;
}

/* The next separator in a name, from the left; NULL: there is none. */
static const char *find_separator(const char *text, const char *end)
{
    for (; end - text >= SEPARATOR_BYTES; text++) {
        if (memcmp(text, separator, SEPARATOR_BYTES) != 0)
            continue;
        if (end - text < ESCAPED_BYTES || memcmp(text, escaped, ESCAPED_BYTES) != 0)
            return text;
        text += ESCAPED_BYTES - 1;
    }
    return NULL;
}

/* Does the name end with that, at the beginning of a part? */
static bool ends_with(const char *name, const char *end, size_t bytes)
{
    const size_t length = strlen(name);
    if (length < bytes || memcmp(name + length - bytes, end, bytes) != 0)
        return false;
    return length == bytes ||
           (length >= bytes + SEPARATOR_BYTES &&
            memcmp(name + length - bytes - SEPARATOR_BYTES, separator, SEPARATOR_BYTES) == 0);
}

static size_t count_ending(const struct python_names *names, const char *end)
{
    const size_t bytes = strlen(end);
    size_t count = 0;
    for (size_t i = 0; i < names->module_count; i++)
        count += names->modules[i].is_export &&
                 (bytes == 0 || ends_with(names->modules[i].name, end, bytes));
    return count;
}

/* The shortest end of the name that no other module has. */
static const char *prefix_of(const struct python_names *names, const char *name)
{
    const char *const end = name + strlen(name);
    const char *starts[MAX_PARTS];
    size_t parts = 0;
    if (count_ending(names, "") == 1)
        return end;
    for (const char *at = name; at && parts < MAX_PARTS; parts++) {
        starts[parts] = at;
        const char *const next = find_separator(at, end);
        at = next ? next + SEPARATOR_BYTES : NULL;
    }
    for (size_t i = parts; i-- > 1;)
        if (count_ending(names, starts[i]) == 1)
            return starts[i];
    return name;
}

void mypyc_close(struct python_names *names)
{
    for (size_t i = 0; i < names->module_count; i++)
        if (names->modules[i].is_export)
            names->modules[i].prefix = prefix_of(names, names->modules[i].name);
}

/* Skips the prefix and its separator.  An escape is none. */
static bool skip_prefix(struct name_part *rest, const char *prefix)
{
    struct name_part after = *rest, again;
    if (!name_part_skip(&after, prefix))
        return false;
    again = after;
    if (*prefix && (name_part_skip(&again, escaped) || !name_part_skip(&after, separator)))
        return false;
    *rest = after;
    return true;
}

/* The module whose prefix is the longest that the name begins with; skips it. */
static const struct python_module *find_module(const struct python_names *names,
                                               struct name_part *rest)
{
    const struct python_module *found = NULL;
    for (size_t i = 0; i < names->module_count; i++) {
        const struct python_module *const module = &names->modules[i];
        struct name_part after = *rest;
        if (module->is_export && skip_prefix(&after, module->prefix) &&
            (!found || strlen(module->prefix) > strlen(found->prefix)))
            found = module;
    }
    /* A file of one module has no prefixes. */
    if (python_names_only_module(names))
        return &names->modules[0];
    if (found)
        (void)skip_prefix(rest, found->prefix);
    return found;
}

/* Appends a part with its escapes undone. */
static bool append_part(struct python_name *out, const char *text, size_t length)
{
    char plain[PYTHON_NAME_BYTES];
    size_t used = 0;
    if (length >= sizeof plain)
        return false;
    for (size_t i = 0; i < length;) {
        const bool is_escape =
            length - i >= ESCAPED_BYTES && memcmp(text + i, escaped, ESCAPED_BYTES) == 0;
        const size_t bytes = is_escape ? SEPARATOR_BYTES : 1;
        memcpy(plain + used, text + i, bytes);
        used += bytes;
        i += is_escape ? ESCAPED_BYTES : 1;
    }
    const struct name_part part = { plain, used };
    static const char body[] = "__top_level__", shown[] = "<module>";
    if (used == sizeof body - 1 && memcmp(plain, body, used) == 0)
        return python_name_append(out, (struct name_part){ shown, sizeof shown - 1 });
    return name_part_is_identifier(part) && python_name_append(out, part);
}

static bool append_parts(struct python_name *out, struct name_part parts)
{
    const char *const end = parts.text + parts.length;
    for (const char *at = parts.text;;) {
        const char *const next = find_separator(at, end);
        if (!append_part(out, at, (size_t)((next ? next : end) - at)))
            return false;
        if (!next)
            return true;
        at = next + SEPARATOR_BYTES;
    }
}

/* A class that ends with the helper, in a module whose functions have the prefix. */
static bool append_generator(const struct python_names *names, struct name_part prefix,
                             struct name_part class, struct python_name *out)
{
    struct python_name plain = { 0 };
    return append_part(&plain, class.text, class.length) &&
           generator_names_append_mypyc(
               names, prefix, (struct name_part){ plain.text, strlen(plain.text) }, out);
}

bool mypyc_decode(const struct python_names *names, struct name_part symbol,
                  struct python_name *out)
{
    out->is_wrapper = name_part_skip(&symbol, "CPyPy_");
    if (!out->is_wrapper && !name_part_skip(&symbol, "CPyDef_"))
        return false;
    const char *const begin = symbol.text;
    const struct python_module *const module = find_module(names, &symbol);
    if (!module || !append_parts(out, (struct name_part){ module->name, strlen(module->name) }))
        return false;
    out->compiler = COMPILER_MYPYC;
    out->module_bytes = (uint32_t)strlen(out->text);
    const char *const end = symbol.text + symbol.length;
    const char *const after = find_separator(symbol.text, end);
    const char *const function = after ? after + SEPARATOR_BYTES : end;
    if (generator_names_is_helper((struct name_part){ function, (size_t)(end - function) }))
        return append_generator(
            names, (struct name_part){ begin, (size_t)(symbol.text - begin) },
            (struct name_part){ symbol.text, (size_t)(after - symbol.text) }, out);
    return append_parts(out, symbol);
}

bool mypyc_source(const char *library, const char *module, size_t module_bytes, unsigned which,
                  char *out, size_t room)
{
    static const char *const ends[] = { ".py", "/__init__.py" };
    const char *const slash = strrchr(library, '/');
    if (!slash || which >= sizeof ends / sizeof *ends)
        return false;
    const int length = snprintf(out, room, "%.*s%.*s%s", (int)(slash + 1 - library), library,
                                (int)module_bytes, module, ends[which]);
    if (length < 0 || (size_t)length >= room)
        return false;
    for (char *at = out + (slash + 1 - library); at < out + length - strlen(ends[which]); at++)
        if (*at == '.')
            *at = '/';
    return true;
}
