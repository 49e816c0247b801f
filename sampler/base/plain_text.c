#include "sampler/base/plain_text.h"

#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/file_name.h"
#include "sampler/base/utf8.h"

/* Ascending. */
static const struct {
    uint32_t first, last;
} hidden[] = {
    { 0x0, 0x1f },                              /* C0 */
    { 0x7f, 0x9f },                             /* DEL, C1 */
    { 0xad, 0xad },                             /* soft hyphen */
    { 0x34f, 0x34f },     { 0x61c, 0x61c },     /* combining joiner; Arabic letter mark */
    { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   /* fillers */
    { 0x180b, 0x180f },                         /* Mongolian selectors */
    { 0x200b, 0x200f },                         /* zero width, direction marks */
    { 0x2028, 0x202e },                         /* ends of lines, directions */
    { 0x2060, 0x206f },                         /* joiners, isolated directions */
    { 0x3164, 0x3164 },                         /* filler */
    { 0xef80, 0xefff },                         /* bytes of file names */
    { 0xfe00, 0xfe0f },                         /* variation selectors */
    { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   /* byte order mark; filler */
    { 0xfff0, 0xfffb },                         /* annotations */
    { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, /* of shorthand, of music */
    { 0xe0000, 0xe0fff },                       /* tags, more selectors */
};

bool plain_text_shows(uint32_t code)
{
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code >= hidden[i].first; i++)
        if (code <= hidden[i].last)
            return false;
    return true;
}

static size_t put_escape(uint32_t code, char out[PLAIN_TEXT_CHARACTER])
{
    static const char digits[] = "0123456789abcdef";
    const size_t count = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    out[0] = '\\';
    out[1] = count == 2 ? 'x' : count == 4 ? 'u' : 'U';
    for (size_t i = 0; i < count; i++)
        out[2 + i] = digits[code >> 4 * (count - 1 - i) & 0xf];
    return 2 + count;
}

size_t plain_text_character(const char *text, size_t length, char out[PLAIN_TEXT_CHARACTER],
                            size_t *length_out)
{
    const size_t n = utf8_char_length(text, length);
    const uint32_t code = n ? utf8_decode(text, n) : 0xfffd;
    const int byte = file_name_byte(code);
    if (!plain_text_shows(code))
        *length_out = put_escape(byte >= 0 ? (uint32_t)byte : code, out);
    else
        *length_out = utf8_encode(code, out);
    return n ? n : 1;
}

void plain_text_put(struct buffer *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        char character[PLAIN_TEXT_CHARACTER];
        size_t bytes;
        at += plain_text_character(text + at, length - at, character, &bytes);
        buffer_append(out, character, bytes);
    }
}

void plain_text_copy(char *out, size_t room, const char *text)
{
    const size_t length = strlen(text);
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        char character[PLAIN_TEXT_CHARACTER];
        size_t bytes;
        at += plain_text_character(text + at, length - at, character, &bytes);
        if (used + bytes >= room)
            break;
        memcpy(out + used, character, bytes);
        used += bytes;
    }
    out[used] = '\0';
}
