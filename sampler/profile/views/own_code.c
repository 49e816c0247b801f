#include "sampler/profile/views/own_code.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/enum_text.h"

const char *const own_code_kind_texts[] = { OWN_CODE_KINDS(ENUM_TEXT) NULL };

/* The role of a function in the search. */
enum code_class {
    CLASS_OTHER,
    CLASS_MARK, /* native code, or a mark of the thread */
    CLASS_FILE, /* your code, or what starts a pex or a shiv */
    CLASS_CELL,
    CLASS_DYNAMIC,
    CLASS_STARTER,   /* starts programs */
    CLASS_RUNPY,     /* the same, of the standard library */
    CLASS_BOOTSTRAP, /* the same, and so does what calls it */
    CLASS_PACKAGE,
    CLASS_LIBRARY,
};

struct search {
    const struct profile_snapshot *snapshot;
    unsigned char *classes; /* by function */
    unsigned char *above;   /* by node: of a search */
};

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* "In [4]"; where its number is unknown, "<ipython-input-4-74f1>" or "/tmp/ipykernel_4711/74105.py", which no file has. */
static bool is_cell(const char *file)
{
    static const char numbered[] = "In [";
    static const char kernel[] = "/ipykernel_";
    const char *const folder = strstr(file, kernel);
    const char *const slash = folder ? strchr(folder + 1, '/') : NULL;
    const char *const digits = folder ? folder + strlen(kernel) : "";
    return begins_with(file, numbered) || begins_with(file, "<ipython-input") ||
           (slash && slash > digits &&
            strspn(digits, "0123456789") == (size_t)(slash - digits) &&
            !strchr(slash + 1, '/'));
}

/* Code made of text has no file; that of a notebook, a terminal or a command is somebody's, and so are functions that cloudpickle sends
 * to other processes. */
static bool is_generated(const char *file)
{
    return *file == '<' && !begins_with(file, "<ipython-input") &&
           !begins_with(file, "<python-input") && !begins_with(file, "<stdin") &&
           strcmp(file, "<command>") != 0 && strcmp(file, "<dynamic-code>") != 0;
}

/* Scripts that pip puts into bin/ to start a program of a package, and the script that starts an unpacked pex. */
static bool is_launcher(const char *name, const char *file)
{
    static const char folder[] = "bin/";
    const char *const slash = strrchr(file, '/');
    const char *const base = slash ? slash + 1 : file;
    const size_t before = (size_t)(base - file), length = sizeof folder - 1;

    static const char unzipped[] = "/unzipped_pexes/", venvs[] = "/venvs/";
    const char *const zip = strstr(file, unzipped), *const venv = strstr(file, venvs);

    const char *const hash = zip ? strchr(zip + strlen(unzipped), '/') : NULL;
    if (venv && slash - venv >= (ptrdiff_t)strlen(venvs) && strcmp(slash, "/pex") == 0)
        return true;
    if (hash && strchr(hash + 1, '/') == slash && strcmp(slash, "/__main__.py") == 0)
        return true;
    return strcmp(name, "<module>") == 0 && !strchr(base, '.') && before >= length &&
           strncmp(base - length, folder, length) == 0 &&
           (before == length || base[-1 - (ptrdiff_t)length] == '/');
}

static const char *text_of(const struct profile_snapshot *snapshot, str_id id)
{
    return profile_string(snapshot, id).text;
}

static struct code_origin origin_of(const struct profile_snapshot *snapshot, function_id id)
{
    const struct profile_function function = profile_function_at(snapshot, id);
    return code_origin_of(profile_packages(snapshot->profile), text_of(snapshot, function.name),
                          text_of(snapshot, function.file), NULL);
}

static enum code_class class_of(const struct profile_snapshot *snapshot, function_id id)
{
    const struct profile_function function = profile_function_at(snapshot, id);
    const char *const name = text_of(snapshot, function.name);
    const char *const file = text_of(snapshot, function.file);
    if (function.library || strcmp(file, "~") == 0)
        return CLASS_MARK;
    /* A longer text names no file, and costs nothing. */
    if (id == 0 || profile_string(snapshot, function.file).length >= PATH_MAX)
        return CLASS_OTHER;
    if (is_launcher(name, file))
        return CLASS_STARTER;

    static const char end[] = "/runpy.py";
    const size_t length = strlen(file), bytes = strlen(end);
    if (strcmp(file, "<frozen runpy>") == 0 ||
        (length >= bytes && strcmp(file + length - bytes, end) == 0))
        return CLASS_RUNPY;

    switch (origin_of(snapshot, id).kind) {
    case CODE_SYNTHETIC: return CLASS_MARK;
    case CODE_SYSTEM: break;
    case CODE_STANDARD: return CLASS_LIBRARY;
    case CODE_PACKAGE:
        return strstr(file, "/.bootstrap/") || strstr(file, "/_bootstrap/") ? CLASS_BOOTSTRAP
                                                                            : CLASS_PACKAGE;
    case CODE_OWN:
        if (*file == '\0')
            break;
        return is_generated(file) ? CLASS_DYNAMIC : is_cell(file) ? CLASS_CELL : CLASS_FILE;
    }
    return CLASS_OTHER;
}

void own_code_mark_files(const struct profile_snapshot *snapshot, function_id first,
                         unsigned char *own)
{
    for (function_id id = first; id < snapshot->sizes.functions; id++) {
        const enum code_class class = class_of(snapshot, id);
        own[id] = class == CLASS_FILE || class == CLASS_CELL;
    }
}

static function_id function_at(const struct search *search, node_id node)
{
    const frame_id frame = profile_node_at(search->snapshot, node).frame;
    return profile_frame_at(search->snapshot, frame).function;
}

static enum code_class class_at(const struct search *search, node_id node)
{
    return node ? (enum code_class)search->classes[function_at(search, node)] : CLASS_OTHER;
}

static const char *name_at(const struct search *search, node_id node)
{
    const struct profile_function function =
        profile_function_at(search->snapshot, function_at(search, node));
    return text_of(search->snapshot, function.name);
}

static const char *file_at(const struct search *search, node_id node)
{
    const struct profile_function function =
        profile_function_at(search->snapshot, function_at(search, node));
    return text_of(search->snapshot, function.file);
}

static bool has_package(const struct own_code_level *level, const struct code_origin *origin)
{
    for (size_t i = 0; i < level->package_count; i++)
        if (level->packages[i].length == origin->length &&
            memcmp(level->packages[i].name, origin->name, origin->length) == 0)
            return true;
    return false;
}

static void add_package(const struct search *search, node_id node, struct own_code_level *out)
{
    const struct code_origin origin = origin_of(search->snapshot, function_at(search, node));
    if (out->package_count < OWN_CODE_MAX_PACKAGES && !has_package(out, &origin))
        out->packages[out->package_count++] = origin;
}

/* The frames between a node and the root. */
enum above { ABOVE_OTHER, ABOVE_ROOT, ABOVE_STARTER, ABOVE_FILES };

/* Callers of the bootstrap of a pex or a shiv start it, and are not your code. */
static void mark_callers(const struct search *search, node_id node)
{
    for (; search->above[node] == ABOVE_FILES;
         node = profile_node_at(search->snapshot, node).parent) {
        if (class_at(search, node) != CLASS_MARK)
            search->classes[function_at(search, node)] = CLASS_STARTER;
        search->above[node] = ABOVE_STARTER;
    }
}

/* Follows stacks from the root while they only start something. */
static void find_programs(const struct search *search, struct own_code_level *out)
{
    unsigned char *const above = search->above;
    above[0] = ABOVE_ROOT;
    for (node_id id = 1; id < search->snapshot->sizes.nodes; id++) {
        const node_id parent = profile_node_at(search->snapshot, id).parent;
        above[id] = ABOVE_OTHER;
        if (above[parent] == ABOVE_OTHER)
            continue;
        switch (class_at(search, id)) {
        case CLASS_OTHER:
        case CLASS_DYNAMIC:
        case CLASS_LIBRARY: break;
        case CLASS_MARK: above[id] = above[parent]; break;
        case CLASS_FILE:
        case CLASS_CELL: above[id] = ABOVE_FILES; break;
        case CLASS_BOOTSTRAP:
            mark_callers(search, parent);
            above[id] = ABOVE_STARTER;
            break;
        case CLASS_STARTER:
        case CLASS_RUNPY: above[id] = ABOVE_STARTER; break;
        case CLASS_PACKAGE:
            if (above[parent] == ABOVE_STARTER ||
                (above[parent] == ABOVE_ROOT && strcmp(name_at(search, id), "<module>") == 0))
                add_package(search, id, out);
        }
    }
}

/* A method of a dataclass, of a named tuple, or of what libraries make. */
static bool is_made_method(const char *name, const char *file)
{
    static const char *const files[] = { "<attrs generated", "<decorator-gen", "<makefun-gen",
                                         "<__array_function__" };
    const char *const dot = strrchr(name, '.');
    const char *const last = dot ? dot + 1 : name;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (begins_with(file, files[i]))
            return true;
    return begins_with(last, "__") || strcmp(last, "<lambda>") == 0;
}

enum {
    WITHIN_PACKAGE,  /* or files */
    WITHIN_LIBRARY,  /* only the standard library calls it */
    WITHIN_NOTHING,  /* nothing calls it */
    HAS_MODULE = 64, /* and it has run a line of a module made of text */
};

/* Does code made of text run as a program?  What libraries make of text defines a function, which they call. */
static bool has_dynamic_program(const struct search *search)
{
    unsigned char *const above = search->above;
    above[0] = WITHIN_NOTHING;
    for (node_id id = 1; id < search->snapshot->sizes.nodes; id++) {
        const node_id parent = profile_node_at(search->snapshot, id).parent;
        const enum code_class class = class_at(search, id);
        const unsigned within = above[parent] & ~(unsigned)HAS_MODULE;
        const char *const name = name_at(search, id);
        const bool is_module = strcmp(name, "<module>") == 0;
        if (class == CLASS_DYNAMIC && is_module &&
            (within == WITHIN_NOTHING || above[parent] & HAS_MODULE))
            return true;
        if (class == CLASS_DYNAMIC && !is_module && within != WITHIN_PACKAGE &&
            !is_made_method(name, file_at(search, id)))
            return true;
        if (class_at(search, parent) == CLASS_DYNAMIC &&
            strcmp(name_at(search, parent), "<module>") == 0 &&
            (class != CLASS_MARK || begins_with(name, "<native> ")))
            return true;
        if (class == CLASS_DYNAMIC && is_module)
            above[parent] |= HAS_MODULE;
        above[id] = (unsigned char)(class == CLASS_MARK ? within
                                    : class == CLASS_PACKAGE || class == CLASS_FILE ||
                                            class == CLASS_CELL || within == WITHIN_PACKAGE
                                        ? WITHIN_PACKAGE
                                        : WITHIN_LIBRARY);
    }
    return false;
}

static bool has_class(const struct search *search, enum code_class class)
{
    return memchr(search->classes, (int)class, search->snapshot->sizes.functions);
}

static void add_level(struct own_code *out, enum own_code_kind kind, bool is_there)
{
    if (is_there)
        out->levels[out->count++].kind = kind;
}

static bool is_of_level(const struct search *search, const struct own_code_level *level,
                        function_id id)
{
    const enum code_class class = (enum code_class)search->classes[id];
    switch (level->kind) {
    case OWN_CODE_FILES:
    case OWN_CODE_CELLS: return class == CLASS_FILE || class == CLASS_CELL;
    case OWN_CODE_DYNAMIC: return class == CLASS_DYNAMIC;
    case OWN_CODE_LIBRARY: return class == CLASS_LIBRARY || class == CLASS_RUNPY;
    case OWN_CODE_PROGRAM:
    case OWN_CODE_PACKAGES: break;
    }
    if (class != CLASS_PACKAGE)
        return false;
    const struct code_origin origin = origin_of(search->snapshot, id);
    return has_package(level, &origin);
}

enum err_code own_code_find(const struct profile_snapshot *snapshot, struct own_code *out,
                            unsigned char *own, struct err *err)
{
    const struct profile_sizes *const sizes = &snapshot->sizes;
    const struct search search = {
        .snapshot = snapshot,
        .classes = calloc((size_t)sizes->functions + 1, sizeof *search.classes),
        .above = calloc((size_t)sizes->nodes + 1, sizeof *search.above),
    };
    memset(out, 0, sizeof *out);
    enum err_code rc = search.classes && search.above ? ERR_OK : err_nomem(err);
    if (!rc) {
        for (function_id id = 1; id < sizes->functions; id++)
            search.classes[id] = (unsigned char)class_of(snapshot, id);

        struct own_code_level programs = { .kind = OWN_CODE_PROGRAM };
        find_programs(&search, &programs);
        if (has_class(&search, CLASS_FILE))
            add_level(out, OWN_CODE_FILES, true);
        else
            add_level(out, OWN_CODE_CELLS, has_class(&search, CLASS_CELL));
        add_level(out, OWN_CODE_DYNAMIC,
                  has_class(&search, CLASS_DYNAMIC) && has_dynamic_program(&search));
        if (programs.package_count)
            out->levels[out->count++] = programs;

        unsigned char *const is_inside = search.above;
        is_inside[0] = false;
        for (node_id id = 1; id < search.snapshot->sizes.nodes; id++) {
            const node_id parent = profile_node_at(search.snapshot, id).parent;
            const bool is_package = class_at(&search, id) == CLASS_PACKAGE;
            is_inside[id] = is_package || is_inside[parent];
            if (is_package && !is_inside[parent])
                add_package(&search, id, &out->levels[out->count]);
        }

        add_level(out, OWN_CODE_PACKAGES, out->levels[out->count].package_count > 0);
        add_level(out, OWN_CODE_LIBRARY, has_class(&search, CLASS_LIBRARY));

        if (own) {
            for (function_id id = 0; id < search.snapshot->sizes.functions; id++) {
                own[id] = 0;
                for (size_t i = 0; i < out->count; i++)
                    own[id] |= (unsigned char)(is_of_level(&search, &out->levels[i], id) << i);
            }
        }
    }
    free(search.classes);
    free(search.above);
    return rc;
}
