#include "sampler/cpython/objects/notebook.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"

static const char digits[] = "0123456789";

/* "/tmp/ipykernel_4711/3057411290.py" */
static bool is_of_kernel(const char *file)
{
    static const char kernel[] = "/ipykernel_";
    const char *const folder = strstr(file, kernel);
    if (!folder)
        return false;
    const char *const pid = folder + strlen(kernel);
    const char *const slash = pid + strspn(pid, digits);
    if (slash == pid || *slash != '/')
        return false;
    const size_t length = strspn(slash + 1, digits);
    return length && strcmp(slash + 1 + length, ".py") == 0;
}

/* The kernel's shell is what the method get_ipython, a variable of every notebook, is bound to. */
static enum err_code find_shell(struct memory *memory, const struct layout *layout,
                                remote_addr interp, remote_addr *out)
{
    const uint32_t self = object_first_field(layout) + (uint32_t)sizeof(uint64_t);
    remote_addr method, type;
    enum err_code rc =
        dict_find_global(memory, layout, interp, "__main__", "get_ipython", &method);
    if (!rc)
        rc = memory_read_u64(memory, method + layout->object_type, &type);
    if (!rc && !object_type_is(memory, layout, type, "method"))
        rc = ERR_NOT_FOUND;
    return rc ? rc : memory_read_u64(memory, method + self, out);
}

static enum err_code find_number(struct memory *memory, const struct layout *layout,
                                 remote_addr interp, const char *file, uint64_t *out)
{
    remote_addr shell, compiler, map, number;
    enum err_code rc = find_shell(memory, layout, interp, &shell);
    if (!rc)
        rc = object_attribute(memory, layout, shell, "compile", &compiler);
    if (!rc)
        rc = object_attribute(memory, layout, compiler, "_filename_map", &map);
    if (!rc)
        rc = dict_find(memory, layout, map, file, &number);
    return rc ? rc : object_read_int(memory, layout, number, out);
}

bool notebook_name_cell(struct memory *memory, const struct layout *layout, remote_addr interp,
                        const char *file, char out[NOTEBOOK_NAME_BYTES])
{
    enum { TRIES = 3 };
    uint64_t number = 0;
    int length = 0;
    if (sscanf(file, "<ipython-input-%9" SCNu64 "-%*[0-9a-f]%n", &number, &length) == 1 &&
        strcmp(file + length, ">") == 0) {
        snprintf(out, NOTEBOOK_NAME_BYTES, "In [%" PRIu64 "]", number);
        return true;
    }
    if (!interp || !is_of_kernel(file))
        return false;
    /* The dictionaries may change while they are read. */
    for (int i = 0; i < TRIES; i++)
        if (!find_number(memory, layout, interp, file, &number)) {
            snprintf(out, NOTEBOOK_NAME_BYTES, "In [%" PRIu64 "]", number);
            return true;
        }
    return false;
}
