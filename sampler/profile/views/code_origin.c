#include "sampler/profile/views/code_origin.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/profile/packages.h"
#include "sampler/profile/profile_rows.h"

static size_t starts_with(const char *text, const char *with)
{
    const size_t length = strlen(with);
    return strncmp(text, with, length) == 0 ? length : 0;
}

/* The next part of a path; NULL: it has no more. */
static const char *next_part(const char *path)
{
    const char *const slash = strchr(path, '/');
    return slash ? slash + 1 : NULL;
}

/* Files that shiv puts before the program. */
static bool is_in_shiv_bootstrap(const char *rest)
{
    static const char *const files[] = { "__init__.py", "environment.py", "filelock.py",
                                         "interpreter.py" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(rest, files[i]) == 0)
            return true;
    return false;
}

/* Packages are in a folder whose name ends with one of these, which the rest of a path follows. */
static bool holds_packages(const char *folder, size_t length, const char *rest)
{
    static const struct {
        const char *end;
        bool is_all; /* of the name */
    } names[] = {
        { "site-packages", true }, { "dist-packages", true }, { ".whl", false },
        { ".egg", false },         { ".bootstrap", false },   { "_bootstrap", true }
    };
    size_t i = 0;
    for (; i < sizeof names / sizeof *names; i++) {
        const size_t end = strlen(names[i].end);
        if ((names[i].is_all ? length == end : length >= end) &&
            memcmp(folder + length - end, names[i].end, end) == 0)
            break;
    }
    return i < sizeof names / sizeof *names &&
           (*names[i].end != '_' || is_in_shiv_bootstrap(rest));
}

static bool is_standard_library(const char *file)
{
    for (const char *part = file; part; part = next_part(part)) {
        const size_t length = starts_with(part, "lib/") + starts_with(part, "lib64/");
        const char *const version = part + length + strlen("python");
        if (length && starts_with(part + length, "python") && *version >= '0' &&
            *version <= '9' && next_part(version))
            return true;
    }
    return starts_with(file, "<frozen ") > 0;
}

static bool is_in_system(const char *library)
{
    if (strcmp(library, PROFILE_KERNEL_PATH) == 0)
        return true;
    library += starts_with(library, "/usr/local/") ? strlen("/usr/local")
               : starts_with(library, "/usr/")     ? strlen("/usr")
                                                   : 0;
    return starts_with(library, "/lib/") || starts_with(library, "/lib64/");
}

struct code_origin code_origin_of(const struct packages *packages, const char *name,
                                  const char *file, const char *library)
{
    const char *const path = library ? library : file;
    const char *const known = packages ? packages_find(packages, path) : NULL;

    const char *package = NULL;
    for (const char *part = path, *next = next_part(part); next;
         part = next, next = next_part(part))
        if (*next && *next != '/' && holds_packages(part, (size_t)(next - part) - 1, next))
            package = next;

    struct code_origin origin = { CODE_OWN, path, strlen(path) };
    if (strcmp(path, "~") == 0 && *name == '<') {
        origin.kind = CODE_SYNTHETIC;
    } else if (known) {
        if (*known)
            origin = (struct code_origin){ CODE_PACKAGE, known, strlen(known) };
    } else if (package) {
        const size_t length = strcspn(package, "/");
        const bool is_module = length > 3 && memcmp(package + length - 3, ".py", 3) == 0;
        origin = (struct code_origin){ CODE_PACKAGE, package, length - (is_module ? 3 : 0) };
    } else if (is_standard_library(path)) {
        origin.kind = CODE_STANDARD;
    } else if (library && is_in_system(library)) {
        origin.kind = CODE_SYSTEM;
    }
    return origin;
}
