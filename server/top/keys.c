#include "server/top/keys.h"

#include <string.h>

int keys_next(const char **at, const char *end)
{
    const char *const start = *at;
    const int first = (unsigned char)*(*at)++;
    if (first == '\n')
        return KEY_ENTER;
    if (first == '\b')
        return KEY_BACKSPACE;
    if (first != KEY_ESCAPE || end - start < 3 || (start[1] != '[' && start[1] != 'O'))
        return first;
    /* "ESC [ ... X": parameters, then one byte from '@' on. */
    const char *last = start + 2;
    while (last < end && (unsigned char)*last >= 0x20 && (unsigned char)*last < 0x40)
        last++;
    *at = last < end ? last + 1 : end;
    if (last == end)
        return KEY_NONE;

    if (*last == '~') {
        /* "ESC [ 5 ~" */
        const char *const text = start + 2;
        const size_t length = (size_t)(last - start - 2);
        static const struct {
            const char *text;
            int key;
        } rows[] = { { "1", KEY_HOME }, { "7", KEY_HOME },    { "4", KEY_END },
                     { "8", KEY_END },  { "5", KEY_PAGE_UP }, { "6", KEY_PAGE_DOWN } };
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strlen(rows[i].text) == length && memcmp(rows[i].text, text, length) == 0)
                return rows[i].key;
        return KEY_NONE;
    }

    const char letter = *last;
    switch (letter) {
    case 'A': return KEY_UP;
    case 'B': return KEY_DOWN;
    case 'C': return KEY_RIGHT;
    case 'D': return KEY_LEFT;
    case 'H': return KEY_HOME;
    case 'F': return KEY_END;
    default: return KEY_NONE;
    }
}
