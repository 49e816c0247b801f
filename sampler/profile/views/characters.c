#include "sampler/profile/views/characters.h"

#include "sampler/base/utf8.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

bool characters_has(const struct character_range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count; i++)
        if (ranges[i].first <= character && character <= ranges[i].last)
            return true;
    return false;
}

uint32_t characters_other_case(uint32_t character)
{
    static const struct {
        uint32_t first, last, distance;
    } capitals[] = { { 'A', 'Z', 0x20 },     { 0xc0, 0xd6, 0x20 },   { 0xd8, 0xde, 0x20 },
                     { 0x391, 0x3a1, 0x20 }, { 0x3a3, 0x3a9, 0x20 }, { 0x400, 0x40f, 0x50 },
                     { 0x410, 0x42f, 0x20 } };
    /* Capitals and small letters in turn, from an even or an odd number on. */
    static const struct character_range pairs[] = { { 0x100, 0x12f }, { 0x132, 0x137 },
                                                    { 0x139, 0x148 }, { 0x14a, 0x177 },
                                                    { 0x179, 0x17e }, { 0x460, 0x481 },
                                                    { 0x48a, 0x4bf }, { 0x4d0, 0x52f } };
    for (size_t i = 0; i < COUNT_OF(capitals); i++) {
        const uint32_t distance = capitals[i].distance;
        if (capitals[i].first <= character && character <= capitals[i].last)
            return character + distance;
        if (capitals[i].first + distance <= character &&
            character <= capitals[i].last + distance)
            return character - distance;
    }
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        if (characters_has(&pairs[i], 1, character))
            return (character - pairs[i].first) % 2 ? character - 1 : character + 1;
    return character;
}

uint32_t characters_next(const char *text, size_t length, size_t *at)
{
    static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    const size_t bytes = utf8_char_length(text + *at, length - *at);
    if (bytes == 0) {
        ++*at;
        return 0xfffd;
    }
    uint32_t character = (unsigned char)text[*at] & lead_bits[bytes];
    for (size_t i = 1; i < bytes; i++)
        character = character << 6 | ((unsigned char)text[*at + i] & 0x3f);
    *at += bytes;
    return character;
}
