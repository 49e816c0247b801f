/* Any text, searched for a definition, of which all else is left out then.  The first line is the name. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "server/source/def_line.h"
#include "tests/fuzz/fuzz.h"

static size_t count_lines(const char *text, size_t length)
{
    size_t lines = 0;
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    return lines;
}

static void keep(const char *text, size_t length, int32_t line)
{
    const struct def_line_mark marks[] = { { line, true },
                                           { line, false },
                                           { line + 9, false } };
    struct buffer out = { 0 };
    bool is_whole = false;
    fuzz_check(def_line_keep(text, length, marks, 3, &out, &is_whole, NULL) == ERR_OK);
    fuzz_check(out.length <= length && (!is_whole || out.length == length));
    fuzz_check(count_lines(out.data, out.length) == count_lines(text, length));
    buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "/srv/pkg/mod.py";
    const char *const newline = size ? memchr(data, '\n', size) : NULL;
    const size_t name_bytes = newline ? (size_t)(newline - (const char *)data) : 0;
    const size_t rest = newline ? size - name_bytes - 1 : 0;
    /* The copy has exactly that size, so that one byte too far is noticed. */
    char *const text = malloc(rest + 1);
    if (!text)
        return 0;
    if (rest)
        memcpy(text + 1, newline + 1, rest);
    struct def_line item = {
        .name = { (const char *)data, (uint32_t)name_bytes },
    };
    def_line_find((struct strtab_string){ path, sizeof path - 1 }, text + 1, rest, &item, 1);
    keep(text + 1, rest, item.line);
    free(text);
    fuzz_check(item.line >= 0 && (size_t)item.line <= rest);
    return 0;
}
