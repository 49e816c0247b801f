#include "sampler/base/file_name.h"

#include <string.h>

#include "sampler/base/utf8.h"

enum {
    FIRST_BYTE = 0x80,
    LAST_BYTE = 0xff,
    PYTHON = 0xdc00,
    OURS = 0xef00,
    LAST_LATIN1 = 0xff
};

uint32_t file_name_of_python(uint32_t code)
{
    return code >= PYTHON + FIRST_BYTE && code <= PYTHON + LAST_BYTE ? code - PYTHON + OURS
                                                                     : code;
}

int file_name_byte(uint32_t code)
{
    return code >= OURS + FIRST_BYTE && code <= OURS + LAST_BYTE ? (int)(code - OURS) : -1;
}

bool file_name_encode(const char *text, enum file_name_encoding encoding, char *out,
                      size_t room)
{
    const size_t length = strlen(text);
    size_t used = 0, bytes = 0;
    bool has_bytes = false, has_latin1 = false;
    for (size_t at = 0; at < length; at += bytes) {
        bytes = utf8_char_length(text + at, length - at);
        const uint32_t code = bytes ? utf8_decode(text + at, bytes) : 0;
        const int byte = encoding == FILE_NAME_TEXT ? -1 : file_name_byte(code);
        const bool is_latin1 =
            encoding == FILE_NAME_LATIN1 && code >= FIRST_BYTE && code <= LAST_LATIN1;
        const bool is_one = byte >= 0 || is_latin1;
        bytes = bytes ? bytes : 1;
        if (used + bytes >= room ||
            (encoding == FILE_NAME_LATIN1 && !is_one && code >= FIRST_BYTE))
            return false;
        if (is_one)
            out[used++] = (char)(byte >= 0 ? (uint32_t)byte : code);
        else
            memcpy(out + used, text + at, bytes);
        used += is_one ? 0 : bytes;
        has_bytes |= byte >= 0;
        has_latin1 |= is_latin1;
    }
    out[used] = '\0';
    return encoding == FILE_NAME_TEXT || (encoding == FILE_NAME_UTF8 ? has_bytes : has_latin1);
}
