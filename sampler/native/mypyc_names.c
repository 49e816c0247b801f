#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/native/name_part.h"

static const char separator[] = "___", escaped[] = "___3_";
enum { SEPARATOR_BYTES = sizeof separator - 1, ESCAPED_BYTES = sizeof escaped - 1 };
/* The most packages that count; of a module inside more, only the first ones. */
enum { MAX_PARTS = 16, MAX_DEFINED = 1 << 18 };

static const char helper[] = "__mypyc_generator_helper__";

struct python_module {
    char *name;         /* as in a symbol: parts with separators between them */
    const char *prefix; /* the end of the name that its functions have; a part of `name` */
    size_t length;      /* of the name */
    bool is_export;     /* of CPyInit_, so the name is whole; PyInit_ has its last part only */
};

void mypyc_deinit(struct python_names *names)
{
    for (size_t i = 0; i < names->module_count; i++)
        free(names->modules[i].name);
    free(names->modules);
    free(names->defined);
    idmap_deinit(&names->module_names);
    idmap_deinit(&names->module_prefixes);
}

size_t mypyc_bytes(const struct python_names *names)
{
    size_t bytes = names->module_room * sizeof *names->modules +
                   idmap_bytes(&names->module_names) + idmap_bytes(&names->module_prefixes) +
                   names->defined_room * sizeof *names->defined;
    for (size_t i = 0; i < names->module_count; i++)
        bytes += names->modules[i].length + 1;
    return bytes;
}

static bool is_module(const struct python_module *module, struct name_part name, bool is_export)
{
    return module->is_export == is_export && module->length == name.length &&
           memcmp(module->name, name.text, name.length) == 0;
}

static uint32_t hash_of_defined(const char *text, size_t length)
{
    return (uint32_t)hash_bytes(text, length, HASH_SEED);
}

static int compare_defined(const void *a, const void *b)
{
    const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static bool ends_with(struct name_part part, const char *end)
{
    const size_t bytes = strlen(end);
    return part.length >= bytes && memcmp(part.text + part.length - bytes, end, bytes) == 0;
}

void mypyc_note(struct python_names *names, struct name_part symbol)
{
    struct name_part function = symbol;
    if (name_part_skip(&function, "CPyDef_")) {
        names->has_generators = names->has_generators || ends_with(function, helper);
        if (names->defined_count == MAX_DEFINED ||
            !VEC_RESERVE(names->defined, names->defined_room, names->defined_count + 1))
            names->lacks_functions = true;
        else
            names->defined[names->defined_count++] =
                hash_of_defined(function.text, function.length);
    }
    const bool is_export = name_part_skip(&symbol, "CPyInit_");
    struct idmap_slot *at;
    if ((!is_export && !name_part_skip(&symbol, "PyInit_")) ||
        !name_part_is_identifier(symbol) || symbol.length >= PYTHON_NAME_BYTES)
        return;
    const uint32_t hash =
        (uint32_t)hash_bytes(symbol.text, symbol.length, HASH_SEED + is_export);
    IDMAP_FIND(at, &names->module_names, hash,
               is_module(&names->modules[at->id], symbol, is_export));
    if (at)
        return;
    char *const name = malloc(symbol.length + 1);
    if (!name || names->module_count == PYTHON_NAMES_MAX_MODULES ||
        !VEC_RESERVE(names->modules, names->module_room, names->module_count + 1) ||
        idmap_add(&names->module_names, hash, (uint32_t)names->module_count, NULL)) {
        free(name);
        names->is_unclear = true;
        return;
    }
    memcpy(name, symbol.text, symbol.length);
    name[symbol.length] = '\0';
    names->has_exports = names->has_exports || is_export;
    names->modules[names->module_count++] =
        (struct python_module){ name, name, symbol.length, is_export };
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

/* The ends of a name that begin with a part; *count_out of them, the longest first. */
static void find_ends(const struct python_module *module, const char *ends[MAX_PARTS],
                      size_t *count_out)
{
    const char *const end = module->name + module->length;
    size_t count = 0;
    for (const char *at = module->name; at && count < MAX_PARTS; count++) {
        ends[count] = at;
        const char *const next = find_separator(at, end);
        at = next ? next + SEPARATOR_BYTES : NULL;
    }
    *count_out = count;
}

static uint64_t hash_end(const struct python_module *module, const char *end)
{
    return hash_bytes(end, (size_t)(module->name + module->length - end), HASH_SEED);
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* The hashes of the ends of all exported modules, in ascending order.  false: there is no memory. */
static bool hash_ends(const struct python_names *names, uint64_t **out, size_t *count_out)
{
    const char *ends[MAX_PARTS];
    size_t room = 0, count;
    for (size_t i = 0; i < names->module_count; i++) {
        if (!names->modules[i].is_export)
            continue;
        find_ends(&names->modules[i], ends, &count);
        if (!VEC_RESERVE(*out, room, *count_out + count))
            return false;
        for (size_t part = 0; part < count; part++)
            (*out)[(*count_out)++] = hash_end(&names->modules[i], ends[part]);
    }
    if (*count_out)
        qsort(*out, *count_out, sizeof **out, compare_hashes);
    return true;
}

/* The shortest end of the name that no other module has. */
static const char *prefix_of(const struct python_module *module, const uint64_t *hashes,
                             size_t hash_count)
{
    const char *ends[MAX_PARTS];
    size_t count, at;
    find_ends(module, ends, &count);
    for (size_t i = count; i-- > 1;) {
        const uint64_t hash = hash_end(module, ends[i]);
        LOWER_BOUND(at, hash_count, hashes[at] < hash);
        if (at + 1 == hash_count || hashes[at + 1] != hash)
            return ends[i];
    }
    return module->name;
}

void mypyc_close(struct python_names *names)
{
    uint64_t *hashes = NULL;
    size_t exports = 0, count = 0;
    for (size_t i = 0; i < names->module_count; i++)
        exports += names->modules[i].is_export;
    bool is_whole = hash_ends(names, &hashes, &count);
    for (size_t i = 0; i < names->module_count && is_whole; i++) {
        struct python_module *const module = &names->modules[i];
        if (!module->is_export)
            continue;
        /* A file with one module needs no prefixes. */
        module->prefix =
            exports == 1 ? module->name + module->length : prefix_of(module, hashes, count);
        is_whole = !idmap_add(&names->module_prefixes,
                              (uint32_t)hash_end(module, module->prefix), (uint32_t)i, NULL);
    }
    free(hashes);
    names->is_unclear = names->is_unclear || !is_whole;
    if (!names->has_generators || names->lacks_functions) {
        free(names->defined);
        names->defined = NULL;
        names->defined_count = names->defined_room = 0;
    } else if (names->defined_count) {
        qsort(names->defined, names->defined_count, sizeof *names->defined, compare_defined);
    }
}

static bool has_prefix(const struct python_module *module, struct name_part prefix)
{
    const size_t length = (size_t)(module->name + module->length - module->prefix);
    return length == prefix.length && memcmp(module->prefix, prefix.text, length) == 0;
}

/* The module whose prefix is the longest that the name begins with, before a separator; skips both. */
static const struct python_module *find_module(const struct python_names *names,
                                               struct name_part *rest)
{
    const struct python_module *found = NULL;
    const struct name_part whole = *rest;
    uint64_t hash = HASH_SEED;
    /* A file of one module has no prefixes. */
    if (python_names_only_module(names))
        return &names->modules[0];
    for (size_t length = 0; length <= whole.length; length++) {
        const struct name_part prefix = { whole.text, length };
        struct name_part after = { whole.text + length, whole.length - length }, again = after;
        struct idmap_slot *at = NULL;
        if (length == 0 ||
            (!name_part_skip(&again, escaped) && name_part_skip(&after, separator)))
            IDMAP_FIND(at, &names->module_prefixes, (uint32_t)hash,
                       has_prefix(&names->modules[at->id], prefix));
        if (at) {
            found = &names->modules[at->id];
            *rest = after;
        }
        if (length < whole.length)
            hash = hash_bytes(whole.text + length, 1, hash);
    }
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
        return name_part_append(out, (struct name_part){ shown, sizeof shown - 1 });
    return name_part_is_identifier(part) && name_part_append(out, part);
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
    const uint32_t hash = hash_of_defined(text, (size_t)length);
    LOWER_BOUND(past, names->defined_count, names->defined[past] < hash);
    return past < names->defined_count && names->defined[past] == hash;
}

/* Appends the function whose generators have that class.  false: it is unclear. */
static bool append_function_of(const struct python_names *names, struct name_part prefix,
                               struct name_part class, struct python_name *out)
{
    /* "NAME_gen", and three underscores and a line if it is inside another function. */
    static const char end[] = "_gen", line[] = "___";
    struct name_part part = class;
    while (part.length && part.text[part.length - 1] >= '0' &&
           part.text[part.length - 1] <= '9')
        part.length--;
    if (part.length == class.length || !ends_with(part, line))
        part.length = class.length;
    else
        part.length -= sizeof line - 1;
    const struct name_part whole = { class.text, ends_with(part, end)
                                                     ? part.length - (sizeof end - 1)
                                                     : 0 };
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
        return name_part_append(out, whole);
    return name_part_append(out, owner) && name_part_append(out, method);
}

bool mypyc_decode(const struct python_names *names, struct name_part symbol,
                  struct python_name *out)
{
    out->is_wrapper = name_part_skip(&symbol, "CPyPy_");
    if (!out->is_wrapper && !name_part_skip(&symbol, "CPyDef_"))
        return false;
    const char *const begin = symbol.text;
    const struct python_module *const module = find_module(names, &symbol);
    if (!module || !append_parts(out, (struct name_part){ module->name, module->length }))
        return false;
    out->compiler = COMPILER_MYPYC;
    out->module_bytes = (uint32_t)strlen(out->text);
    const char *const end = symbol.text + symbol.length;
    const char *const after = find_separator(symbol.text, end);
    const char *const function = after ? after + SEPARATOR_BYTES : end;
    if ((size_t)(end - function) == sizeof helper - 1 &&
        memcmp(function, helper, sizeof helper - 1) == 0) {
        const struct name_part prefix = { begin, (size_t)(symbol.text - begin) };
        struct python_name class = { 0 };
        return append_part(&class, symbol.text, (size_t)(after - symbol.text)) &&
               append_function_of(names, prefix,
                                  (struct name_part){ class.text, strlen(class.text) }, out);
    }
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
