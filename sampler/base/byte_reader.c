#include "sampler/base/byte_reader.h"

#include <string.h>

const unsigned char *byte_reader_take(struct byte_reader *in, size_t count)
{
    const unsigned char *const at = in->at;
    in->is_bad |= byte_reader_left(in) < count;
    if (in->is_bad)
        return NULL;
    in->at += count;
    return at;
}

static uint64_t take_fixed(struct byte_reader *in, unsigned count)
{
    const unsigned char *const at = byte_reader_take(in, count);
    uint64_t value = 0;
    for (unsigned i = 0; at && i < count; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

unsigned byte_reader_u8(struct byte_reader *in)
{
    return (unsigned)take_fixed(in, 1);
}

uint32_t byte_reader_u32(struct byte_reader *in)
{
    return (uint32_t)take_fixed(in, 4);
}

uint64_t byte_reader_u64(struct byte_reader *in)
{
    return take_fixed(in, 8);
}

uint64_t byte_reader_number(struct byte_reader *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !in->is_bad; shift += 7) {
        if (in->at == in->end)
            break;
        const unsigned char byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->is_bad = true;
    return 0;
}

int64_t byte_reader_signed(struct byte_reader *in)
{
    const uint64_t value = byte_reader_number(in);
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

uint64_t byte_reader_below(struct byte_reader *in, uint64_t max)
{
    const uint64_t value = byte_reader_number(in);
    if (value <= max)
        return value;
    in->is_bad = true;
    return 0;
}

size_t byte_reader_count(struct byte_reader *in, size_t each, size_t max)
{
    const uint64_t count = byte_reader_below(in, max);
    if (count <= byte_reader_left(in) / each)
        return (size_t)count;
    in->is_bad = true;
    return 0;
}

const char *byte_reader_text(struct byte_reader *in)
{
    const size_t length = byte_reader_count(in, 1, SIZE_MAX);
    const unsigned char *const text = byte_reader_take(in, length + 1);
    if (text && strnlen((const char *)text, length + 1) == length)
        return (const char *)text;
    in->is_bad = true;
    return "";
}
