/* Input: first line, code unit, location table. */
#include <string.h>

#include "sampler/cpython/objects/location.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct {
        int32_t first_line;
        uint32_t unit;
    } head;
    struct location found;
    if (size < sizeof head)
        return 0;
    memcpy(&head, data, sizeof head);
    const unsigned char *const table = data + sizeof head;
    const size_t bytes = size - sizeof head;
    (void)location_find(table, bytes, head.first_line, head.unit, &found);
    /* The search for a unit must not read beyond the table. */
    for (uint32_t unit = 0; unit < 32; unit++) {
        found.end_column = -2;
        if (location_find(table, bytes, head.first_line, unit, &found))
            fuzz_check(found.column >= -1 && found.end_column >= -1);
        else
            fuzz_check(found.end_column == -2);
    }
    return 0;
}
