#define _GNU_SOURCE
#include "sampler/foreign/location.h"

#include <string.h>

bool location_cut_number(struct gather_text *text, char mark, int64_t *out)
{
    size_t at = text->bytes;
    int64_t value = 0;
    while (at > 0 && text->text[at - 1] >= '0' && text->text[at - 1] <= '9')
        at--;
    if (at == 0 || at == text->bytes || text->text[at - 1] != mark)
        return false;
    for (size_t i = at; i < text->bytes && value <= INT32_MAX; i++)
        value = value * 10 + (text->text[i] - '0');
    text->bytes = at - 1;
    *out = value;
    return true;
}

bool location_split(struct gather_text text, struct gather_text *name, struct gather_text *file,
                    int64_t *line)
{
    static const char library[] = " (in ";
    const size_t mark = sizeof library - 1;
    int64_t last = 0, first = 0;
    if (text.bytes < 2 || text.text[text.bytes - 1] != ')')
        return false;
    /* Names of C++ have brackets of their own before that of a library. */
    for (size_t at = text.bytes - 1; at >= mark; at--)
        if (memcmp(text.text + at - mark, library, mark) == 0) {
            *name = (struct gather_text){ text.text, at - mark };
            *file = (struct gather_text){ text.text + at, text.bytes - at - 1 };
            *line = 0;
            return true;
        }
    /* Files may have brackets too, so the first one counts. */
    const char *const spaced = memmem(text.text, text.bytes, " (", 2);
    const char *const open = spaced ? spaced + 1 : memchr(text.text, '(', text.bytes);
    if (!open)
        return false;
    struct gather_text place = { open + 1, (size_t)(text.text + text.bytes - open) - 2 };
    if (!location_cut_number(&place, ':', &last))
        return false;
    const bool has_column = location_cut_number(&place, ':', &first);
    if (place.bytes == 0 || (!spaced && !has_column))
        return false;
    *name = (struct gather_text){ text.text, (size_t)((spaced ? spaced : open) - text.text) };
    *file = place;
    *line = has_column ? first : last;
    return true;
}
