#include "sampler/native/python_names.h"

#include <string.h>

/* A function of C in a file of C++ is "_Z", "L" if it is static, its length and its name. */
static struct name_part unwrap_name(struct name_part symbol)
{
    struct name_part part = symbol;
    size_t length = 0;
    if (!name_part_skip(&part, "_Z"))
        return symbol;
    (void)name_part_skip(&part, "L");
    while (part.length && *part.text >= '0' && *part.text <= '9' &&
           length < PYTHON_NAME_BYTES) {
        length = length * 10 + (size_t)(*part.text - '0');
        part.text++;
        part.length--;
    }
    if (length == 0 || length > part.length)
        return symbol;
    return (struct name_part){ part.text, length };
}

/* Without what the compiler appends to parts and copies of a function: ".part.0", ".cold". */
static struct name_part without_suffix(struct name_part symbol)
{
    const char *const dot = memchr(symbol.text, '.', symbol.length);
    return (struct name_part){ symbol.text, dot ? (size_t)(dot - symbol.text) : symbol.length };
}

void python_names_deinit(struct python_names *names)
{
    mypyc_deinit(names);
    cython_deinit(names);
    *names = (struct python_names){ 0 };
}

void python_names_note(void *names, const char *symbol, size_t length)
{
    const struct name_part part =
        without_suffix(unwrap_name((struct name_part){ symbol, length }));
    if (part.length > PYTHON_NAMES_MAX_SYMBOL_BYTES)
        return;
    mypyc_note(names, part);
    cython_note(names, part);
}

void python_names_close(struct python_names *names, bool is_complete)
{
    names->is_unclear = names->is_unclear || !is_complete;
    mypyc_close(names);
    cython_close(names);
}

bool python_names_decode(const struct python_names *names, const char *symbol,
                         struct python_name *out)
{
    const struct name_part part =
        without_suffix(unwrap_name((struct name_part){ symbol, strlen(symbol) }));
    *out = (struct python_name){ 0 };
    return !names->is_unclear && part.length <= PYTHON_NAMES_MAX_SYMBOL_BYTES &&
           (mypyc_decode(names, part, out) || cython_decode(names, part, out));
}

size_t python_names_bytes(const struct python_names *names)
{
    return mypyc_bytes(names) + cython_bytes(names);
}
