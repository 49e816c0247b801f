#include "sampler/native/name_part.h"

#include <string.h>

bool name_part_skip(struct name_part *part, const char *prefix)
{
    const size_t length = strlen(prefix);
    if (part->length < length || memcmp(part->text, prefix, length) != 0)
        return false;
    part->text += length;
    part->length -= length;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool name_part_is_identifier(struct name_part part)
{
    if (part.length == 0 || is_digit(*part.text))
        return false;
    for (size_t i = 0; i < part.length; i++) {
        const char c = part.text[i];
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && !is_digit(part.text[i]))
            return false;
    }
    return true;
}

bool name_part_append(struct python_name *name, struct name_part part)
{
    const size_t used = strlen(name->text), dot = used > 0;
    if (part.length >= sizeof name->text - used - dot)
        return false;
    if (dot)
        name->text[used] = '.';
    memcpy(name->text + used + dot, part.text, part.length);
    name->text[used + dot + part.length] = '\0';
    return true;
}
