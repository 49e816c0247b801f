#include "sampler/cpython/objects/frozen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/objects/set.h"

void frozen_deinit(struct frozen *frozen)
{
    for (size_t i = 0; i < frozen->count; i++)
        free(frozen->modules[i]);
    free(frozen->modules);
    frozen->modules = NULL;
    frozen->count = 0;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static enum err_code read_library(struct frozen *frozen, struct memory *memory,
                                  const struct layout *layout, remote_addr interp)
{
    struct predicted_reads reads;
    remote_addr names, members[FROZEN_MAX_MODULES];
    size_t count = 0;
    enum err_code rc =
        dict_find_global(memory, layout, interp, "sys", "stdlib_module_names", &names);
    if (rc)
        return rc;
    predicted_reads_init(&reads, memory);
    rc = predicted_reads_begin(&reads);
    if (!rc)
        rc = set_read(&reads, layout, names, NULL, members, FROZEN_MAX_MODULES, &count);
    predicted_reads_deinit(&reads);

    if (rc)
        return rc;

    struct object_bytes name = { 0 };
    frozen->modules = calloc(count + 1, sizeof *frozen->modules);
    if (!frozen->modules)
        return ERR_NOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = object_read_str_start(memory, layout, members[i], FROZEN_NAME_BYTES, &name);
        if (rc)
            break;
        name.bytes[name.count] = '\0'; /* it has room for that */
        char *const copy = strdup((const char *)name.bytes);
        rc = copy ? ERR_OK : ERR_NOMEM;
        if (copy)
            frozen->modules[frozen->count++] = copy;
    }
    object_bytes_deinit(&name);
    qsort(frozen->modules, frozen->count, sizeof *frozen->modules, by_name);
    return rc;
}

/* Modules of PyInstaller itself start the program. */
static bool is_starter(const char *module)
{
    static const char *const names[] = { "PyInstaller", "pyiboot", "pyimod", "pyi_rth_" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(module, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

bool frozen_name_module(struct frozen *frozen, struct memory *memory,
                        const struct layout *layout, remote_addr interp, const char *file,
                        char out[FROZEN_NAME_BYTES])
{
    static const char source[] = ".py", package[] = ".__init__";
    const size_t length = strlen(file);
    char path[FROZEN_NAME_BYTES], module[FROZEN_NAME_BYTES];
    const char *key = module;
    if (!interp || *file == '/' || *file == '<' || length <= strlen(source) ||
        length + sizeof "<frozen >" > sizeof path ||
        strcmp(file + length - strlen(source), source) != 0)
        return false;
    if (!frozen->count && frozen->asked < FROZEN_MAX_ASKED) {
        remote_addr value;
        enum err_code rc = dict_find_global(memory, layout, interp, "sys", "frozen", &value);
        if (!rc)
            rc = read_library(frozen, memory, layout, interp);
        if (rc)
            frozen_deinit(frozen);
        frozen->asked++;
    }
    if (!frozen->count)
        return false;
    snprintf(path, sizeof path, "%.*s", (int)(length - strlen(source)), file);
    snprintf(module, sizeof module, "%.*s", (int)strcspn(path, "/"), path);
    if (!is_starter(module) &&
        !bsearch(&key, frozen->modules, frozen->count, sizeof *frozen->modules, by_name))
        return false;
    for (char *c = path; *c; c++)
        *c = *c == '/' ? '.' : *c;
    const size_t dotted = strlen(path), end = strlen(package);
    const bool is_package = dotted > end && strcmp(path + dotted - end, package) == 0;
    snprintf(out, FROZEN_NAME_BYTES, "<frozen %.*s>", (int)(is_package ? dotted - end : dotted),
             path);
    return true;
}
