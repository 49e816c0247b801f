#include "sampler/base/utf8.h"

static bool is_tail(const char *text)
{
    return ((unsigned char)*text & 0xc0) == 0x80;
}

size_t utf8_char_length(const char *text, size_t length)
{
    if (!length)
        return 0;
    const unsigned char a = (unsigned char)text[0];
    if (a < 0x80)
        return 1;
    if (a < 0xc2 || a > 0xf4)
        return 0;
    const size_t need = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
    if (length < need)
        return 0;
    const unsigned char b = (unsigned char)text[1];
    for (size_t i = 1; i < need; i++)
        if (!is_tail(text + i))
            return 0;
    if ((a == 0xe0 && b < 0xa0) || (a == 0xed && b >= 0xa0))
        return 0;
    if ((a == 0xf0 && b < 0x90) || (a == 0xf4 && b >= 0x90))
        return 0;
    return need;
}

uint32_t utf8_decode(const char *text, size_t bytes)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0xf, 0x7 };
    uint32_t code = bytes < sizeof masks ? (unsigned char)text[0] & masks[bytes] : 0;
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3fu);
    return code;
}

bool utf8_is_valid(const char *text, size_t length)
{
    while (length) {
        const size_t n = utf8_char_length(text, length);
        if (!n)
            return false;
        text += n;
        length -= n;
    }
    return true;
}

size_t utf8_cut(const char *text, size_t length, size_t most)
{
    if (length <= most)
        return length;
    while (most > 0 && is_tail(text + most))
        most--;
    return most;
}

size_t utf8_encode(uint32_t code, char out[4])
{
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}
