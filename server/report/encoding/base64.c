#include "server/report/encoding/base64.h"

#include <stdint.h>

#include "sampler/base/buffer.h"

static void encode_three(char *out, uint32_t bits)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out[0] = digits[bits >> 18 & 63];
    out[1] = digits[bits >> 12 & 63];
    out[2] = digits[bits >> 6 & 63];
    out[3] = digits[bits & 63];
}

void base64_append(struct buffer *out, const void *data, size_t bytes)
{
    const unsigned char *const in = data;
    const size_t length = (bytes + 2) / 3 * 4;
    char *const room = buffer_reserve(out, length);
    if (!room)
        return;
    for (size_t i = 0, at = 0; i < bytes; i += 3, at += 4) {
        const uint32_t second = i + 1 < bytes ? in[i + 1] : 0;
        const uint32_t third = i + 2 < bytes ? in[i + 2] : 0;
        encode_three(room + at, (uint32_t)in[i] << 16 | second << 8 | third);
    }
    if (bytes % 3 > 0)
        room[length - 1] = '=';
    if (bytes % 3 == 1)
        room[length - 2] = '=';
    buffer_grow(out, length);
}
