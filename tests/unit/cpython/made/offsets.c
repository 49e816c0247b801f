#include "tests/unit/cpython/made/offsets.h"

#include <assert.h>
#include <string.h>

#define X(name, value) value,
static const uint64_t slots_3_13[] = { OFFSETS_3_13(X) };
static const uint64_t slots_3_14[] = { OFFSETS_3_14(X) };
static const uint64_t slots_3_15[] = { OFFSETS_3_15(X) };
#undef X

static const struct {
    uint64_t version;
    const uint64_t *slots;
    size_t count;
} tables[] = {
    { 0x030d05f0, slots_3_13, OFFSETS_3_13_COUNT },
    { 0x030e0af0, slots_3_14, OFFSETS_3_14_COUNT },
    { 0x030f02f0, slots_3_15, OFFSETS_3_15_COUNT },
};

enum { OLDEST_MINOR = 13 };

void offsets_fill(struct offsets *out, unsigned minor)
{
    assert(minor >= OLDEST_MINOR && minor - OLDEST_MINOR < sizeof tables / sizeof *tables);
    memset(out, 0, sizeof *out);
    memcpy(out->cookie, "xdebugpy", sizeof out->cookie);
    out->version = tables[minor - OLDEST_MINOR].version;
    memcpy(out->slots, tables[minor - OLDEST_MINOR].slots,
           tables[minor - OLDEST_MINOR].count * sizeof *out->slots);
}

size_t offsets_count(unsigned minor)
{
    return tables[minor - OLDEST_MINOR].count;
}
