#include "server/report/encoding/marshal.h"

#include <string.h>

#include "sampler/base/buffer.h"

enum { LONG_DIGIT_BITS = 15 };

static void put_le(struct buffer *out, uint64_t value, size_t bytes)
{
    char text[8];
    for (size_t i = 0; i < bytes; i++)
        text[i] = (char)(value >> 8 * i);
    buffer_append(out, text, bytes);
}

void marshal_dict(struct buffer *out)
{
    buffer_char(out, '{');
}

void marshal_end(struct buffer *out)
{
    buffer_char(out, '0');
}

void marshal_tuple(struct buffer *out, uint32_t items)
{
    buffer_char(out, '(');
    put_le(out, items, 4);
}

void marshal_text(struct buffer *out, const char *text, uint32_t length)
{
    buffer_char(out, 'u');
    put_le(out, length, 4);
    buffer_append(out, text, length);
}

void marshal_int(struct buffer *out, int64_t value)
{
    if (value < INT32_MIN || value > INT32_MAX) {
        /* Digits of 15 bits, their number negative for a negative value. */
        uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        int32_t digits = 0;
        for (uint64_t left = rest; left > 0; left >>= LONG_DIGIT_BITS)
            digits++;
        buffer_char(out, 'l');
        put_le(out, (uint32_t)(value < 0 ? -digits : digits), 4);
        for (; rest > 0; rest >>= LONG_DIGIT_BITS)
            put_le(out, rest & ((1u << LONG_DIGIT_BITS) - 1), 2);
        return;
    }
    buffer_char(out, 'i');
    put_le(out, (uint32_t)value, 4);
}

void marshal_float(struct buffer *out, double value)
{
    uint64_t bits = 0;
    _Static_assert(sizeof bits == sizeof value, "a double has 8 bytes");
    memcpy(&bits, &value, sizeof bits);
    buffer_char(out, 'g');
    put_le(out, bits, 8);
}
