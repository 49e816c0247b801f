#include "sampler/cpython/objects/opcodes.h"

#include <string.h>

#include "sampler/cpython/layout/layout.h"
#include "sampler/cpython/objects/opcode_tables.h"

const struct opcode *opcodes_of(uint32_t version)
{
    const struct opcode *newest = NULL;
    for (size_t i = 0; i < sizeof opcode_tables / sizeof *opcode_tables; i++) {
        if (LAYOUT_MAJOR(version) != 3 || LAYOUT_MINOR(version) < opcode_tables[i].minor)
            break;
        newest = opcode_tables[i].opcodes;
    }
    return newest;
}

int opcodes_find(const struct opcode *opcodes, const char *name)
{
    for (int i = 0; i < OPCODES; i++)
        if (opcodes[i].name && strcmp(opcodes[i].name, name) == 0)
            return i;
    return -1;
}

int64_t opcode_effect(const struct opcode *opcode, uint32_t oparg)
{
    const struct opcode_effect *const effect = &opcode->effect;
    int64_t change =
        effect->base + effect->slope * (int64_t)oparg + effect->high * (int64_t)(oparg >> 8);
    for (unsigned bit = 0; bit < sizeof effect->bits; bit++)
        if (oparg >> bit & 1)
            change += effect->bits[bit];
    return change;
}
