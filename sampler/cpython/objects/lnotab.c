#include "sampler/cpython/objects/lnotab.h"

enum { UNIT_BYTES = 2, PAIR = 2, NO_LINE = -128 };

static int32_t in_range(int64_t line)
{
    return line > INT32_MAX ? INT32_MAX : line < 0 ? 0 : (int32_t)line;
}

/* Pairs of steps: so many bytes on, so many lines on (or back). */
int32_t lnotab_find(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit)
{
    const uint64_t wanted = (uint64_t)unit * UNIT_BYTES;
    uint64_t at = 0;
    int64_t line = first_line;
    for (size_t i = 0; i + PAIR <= bytes; i += PAIR) {
        at += table[i];
        if (at > wanted)
            break;
        line += (int8_t)table[i + 1];
    }
    return in_range(line);
}

/* Pairs of a length and how far its line is from the one before. */
int32_t lnotab_find_range(const unsigned char *table, size_t bytes, int32_t first_line,
                          uint32_t unit)
{
    const uint64_t wanted = (uint64_t)unit * UNIT_BYTES;
    uint64_t end = 0;
    int64_t line = first_line;
    for (size_t i = 0; i + PAIR <= bytes; i += PAIR) {
        const int8_t step = (int8_t)table[i + 1];
        end += table[i];
        if (step != NO_LINE)
            line += step;
        if (wanted < end)
            return step == NO_LINE ? 0 : in_range(line);
    }
    return 0;
}
