/* Input: names of symbols, one a line; also read as the lines of a perf map, and as a jitdump. */
#include <string.h>

#include "sampler/native/demangle.h"
#include "sampler/native/perf_map.h"
#include "sampler/native/python_names.h"
#include "tests/fuzz/fuzz.h"

static void read_map(const char *text, size_t bytes)
{
    static const uint64_t addresses[] = { 0, 0x1000, 0x7f0000001000, UINT64_MAX };
    struct perf_map map = { 0 };
    struct perf_map_name name;
    fuzz_check(perf_map_add_records(&map, text, bytes) <= bytes);
    fuzz_check(perf_map_add_lines(&map, text, bytes) <= bytes);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        if (perf_map_find(&map, addresses[i], &name)) {
            fuzz_check(name.name_bytes <= PERF_MAP_MAX_NAME);
            fuzz_check(addresses[i] - name.start < name.bytes);
        }
    for (size_t i = 0; i < map.count; i++)
        fuzz_check(perf_map_find(&map, map.entries[i].start, &name) &&
                   name.start == map.entries[i].start);
    perf_map_deinit(&map);
}

static void decode(const struct python_names *names, const char *symbol)
{
    char text[DEMANGLE_MAX_NAME + 1], path[64];
    struct python_name name;
    (void)demangle(symbol, text);
    fuzz_check(strlen(text) <= DEMANGLE_MAX_NAME);
    if (!python_names_decode(names, symbol, &name))
        return;
    fuzz_check(name.compiler != COMPILER_NONE && *name.text);
    fuzz_check(name.module_bytes < strlen(name.text));
    (void)mypyc_source("/lib/x.so", name.text, name.module_bytes, 0, path, sizeof path);
}

/* Cuts the text into lines; takes the next one.  NULL: there is none. */
static char *next_line(char **at)
{
    char *const line = *at;
    if (!line)
        return NULL;
    char *const newline = strchr(line, '\n');
    *at = newline ? newline + 1 : NULL;
    if (newline)
        *newline = '\0';
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct python_names names = { 0 };
    char *const text = malloc(2 * (size + 1));
    if (!text)
        return 0;
    char *const copy = text + size + 1;
    memcpy(text, data, size);
    text[size] = '\0';
    memcpy(copy, text, size + 1);
    read_map(text, size);
    char *at = text;
    for (const char *line = next_line(&at); line; line = next_line(&at))
        python_names_note(&names, line, strlen(line));
    python_names_close(&names, true);
    at = copy;
    for (const char *line = next_line(&at); line; line = next_line(&at))
        decode(&names, line);
    python_names_deinit(&names);
    free(text);
    return 0;
}
