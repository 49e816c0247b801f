#include "server/report/encoding/protobuf.h"

#include "sampler/base/buffer.h"

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, VARINT_MAX = 10 };

void protobuf_varint(struct buffer *out, uint64_t value)
{
    char bytes[VARINT_MAX];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[length++] = (char)(value | 0x80);
    bytes[length++] = (char)value;
    buffer_append(out, bytes, length);
}

void protobuf_uint(struct buffer *out, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    protobuf_varint(out, (uint64_t)field << 3 | TYPE_VARINT);
    protobuf_varint(out, value);
}

void protobuf_bytes(struct buffer *out, unsigned field, const void *data, size_t bytes)
{
    protobuf_varint(out, (uint64_t)field << 3 | TYPE_BYTES);
    protobuf_varint(out, bytes);
    buffer_append(out, data, bytes);
}

void protobuf_fixed64(struct buffer *out, unsigned field, uint64_t value)
{
    char bytes[sizeof value];
    protobuf_varint(out, (uint64_t)field << 3 | TYPE_FIXED64);
    for (size_t i = 0; i < sizeof value; i++)
        bytes[i] = (char)(value >> (8 * i));
    buffer_append(out, bytes, sizeof bytes);
}

static bool take_varint(const char **message, size_t *left, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *left > 0; shift += 7) {
        const unsigned char byte = (unsigned char)*(*message)++;
        (*left)--;
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

bool protobuf_next(const char **message, size_t *left, unsigned *field_out,
                   const char **data_out, size_t *bytes_out)
{
    uint64_t key, bytes;
    if (!take_varint(message, left, &key) || (key & 7) != TYPE_BYTES ||
        !take_varint(message, left, &bytes) || bytes > *left)
        return false;
    *field_out = (unsigned)(key >> 3);
    *data_out = *message;
    *bytes_out = (size_t)bytes;
    *message += bytes;
    *left -= (size_t)bytes;
    return true;
}
