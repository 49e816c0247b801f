#include "tests/fuzz/any_version.h"

#include "tests/fuzz/fuzz.h"
#include "tests/unit/cpython/made/offsets.h"

struct layout any_version_layout(uint8_t choice)
{
    struct offsets table;
    struct layout layout;
    const unsigned minor = 11 + choice % 5;
    if (minor < 13) {
        fuzz_check(!layout_of_version(0x03000000 | minor << 16 | 0x1f0, &layout, NULL));
        return layout;
    }
    offsets_fill(&table, minor);
    fuzz_check(!layout_of_debug_offsets(&table, sizeof table, &layout, NULL));
    return layout;
}
