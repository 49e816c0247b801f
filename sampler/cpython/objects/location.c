#include "sampler/cpython/objects/location.h"

#include "sampler/base/byte_reader.h"

/* The form of an entry: bits 3 to 6 of its first byte. */
enum {
    FORM_SHORT_LAST = 9,
    FORM_ONE_LINE_0 = 10,
    FORM_ONE_LINE_2 = 12,
    FORM_NO_COLUMNS = 13,
    FORM_LONG = 14,
    FORM_NONE = 15,
};

/* A number has six bits a byte, least significant first; bit 6 says that more bytes follow. */
static uint32_t take_varint(struct byte_reader *in)
{
    enum { MORE = 0x40, BITS = 6, MAX_SHIFT = 30 };
    uint64_t value = 0;
    for (unsigned shift = 0; shift <= MAX_SHIFT; shift += BITS) {
        const uint32_t byte = byte_reader_u8(in);
        value |= (uint64_t)(byte & (MORE - 1)) << shift;
        if (!(byte & MORE) && value <= UINT32_MAX)
            return (uint32_t)value;
    }
    in->is_bad = true;
    return 0;
}

/* A varint that must fit into an int32_t. */
static int32_t take_count(struct byte_reader *in)
{
    const uint32_t value = take_varint(in);
    if (value <= INT32_MAX)
        return (int32_t)value;
    in->is_bad = true;
    return 0;
}

static int32_t take_signed_varint(struct byte_reader *in)
{
    const uint32_t value = take_varint(in);
    return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

static int32_t add_checked(struct byte_reader *in, int32_t a, int32_t b)
{
    int32_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    in->is_bad = true;
    return 0;
}

bool location_find(const unsigned char *table, size_t bytes, int32_t first_line, uint32_t unit,
                   struct location *out)
{
    struct byte_reader in = byte_reader_of(table, bytes);
    int32_t line = first_line;
    uint64_t start = 0;
    while (byte_reader_left(&in) > 0) {
        struct location location;

        /* Reads one entry; `line` carries over to the next one. */
        const uint32_t head = byte_reader_u8(&in);
        const uint32_t form = head >> 3 & 15;
        location = (struct location){ 0, 0, -1, -1 };
        if (!(head & 0x80))
            in.is_bad = true;
        else if (form <= FORM_SHORT_LAST) {
            const uint32_t byte = byte_reader_u8(&in);
            const int32_t column = (int32_t)(form << 3 | byte >> 4);
            location = (struct location){ line, line, column, column + (int32_t)(byte & 15) };
        } else if (form <= FORM_ONE_LINE_2) {
            line = add_checked(&in, line, (int32_t)form - FORM_ONE_LINE_0);
            location.line = location.end_line = line;
            location.column = (int32_t)byte_reader_u8(&in);
            location.end_column = (int32_t)byte_reader_u8(&in);
        } else if (form == FORM_NO_COLUMNS) {
            line = add_checked(&in, line, take_signed_varint(&in));
            location.line = location.end_line = line;
        } else if (form == FORM_LONG) {
            line = add_checked(&in, line, take_signed_varint(&in));
            location.line = line;
            location.end_line = add_checked(&in, line, take_count(&in));
            location.column = take_count(&in) - 1;
            location.end_column = take_count(&in) - 1;
        }
        const uint32_t units = (head & 7) + 1;

        if (in.is_bad)
            return false;
        if (unit < start + units) {
            *out = location;
            return true;
        }
        start += units;
    }
    return false;
}

/* For line tables until 3.10. */
enum { UNIT_BYTES = 2, PAIR = 2, NO_LINE = -128 };

static int32_t in_range(int64_t line)
{
    return line > INT32_MAX ? INT32_MAX : line < 0 ? 0 : (int32_t)line;
}

/* The table holds pairs: a step in bytes, and a step in lines, which may be negative. */
int32_t location_find_lnotab(const unsigned char *table, size_t bytes, int32_t first_line,
                             uint32_t unit)
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

/* The table holds pairs: a length in bytes, and the difference of its line to the previous one. */
int32_t location_find_lnotab_range(const unsigned char *table, size_t bytes, int32_t first_line,
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
