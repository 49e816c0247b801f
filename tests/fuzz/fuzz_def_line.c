/* Any text, searched for a definition.  The first line is the name. */
#include <string.h>

#include "server/source/def_line.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "/srv/pkg/mod.py";
    const char *const newline = size ? memchr(data, '\n', size) : NULL;
    const size_t name_bytes = newline ? (size_t)(newline - (const char *)data) : 0;
    const size_t rest = newline ? size - name_bytes - 1 : 0;
    /* Of exactly that size, so that one byte too far is noticed. */
    char *const text = malloc(rest + 1);
    if (!text)
        return 0;
    if (rest)
        memcpy(text + 1, newline + 1, rest);
    struct def_line item = {
        .name = { (const char *)data, (uint32_t)name_bytes },
    };
    def_line_find((struct strtab_string){ path, sizeof path - 1 }, text + 1, rest, &item, 1);
    free(text);
    fuzz_check(item.line >= 0 && (size_t)item.line <= rest);
    return 0;
}
