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
