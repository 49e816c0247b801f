/* Input: the text of /proc/PID/maps. */
#include <string.h>

#include "sampler/process/maps.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct maps maps;
    char *const text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!maps_parse(&maps, text, NULL)) {
        for (size_t i = 0; i < maps.count; i++) {
            const struct mapping *const found = maps_find(&maps, maps.items[i].start);
            fuzz_check(!found || (found->start <= maps.items[i].start &&
                                  maps.items[i].start < found->end));
            fuzz_check(strlen(maps.items[i].path) <= size);
        }
    }
    maps_deinit(&maps);
    free(text);
    return 0;
}
