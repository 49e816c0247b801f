#include "server/http/etag.h"

#include <string.h>

/* One entity tag at `at`: its text without W/ and quotes.  Returns what follows, NULL: none. */
static const char *next_tag(const char *at, const char **tag_out, size_t *length_out)
{
    at += strspn(at, ", \t");
    if (strncmp(at, "W/", 2) == 0)
        at += 2;
    if (*at != '"')
        return NULL;
    const char *const end = strchr(at + 1, '"');
    if (!end)
        return NULL;
    *tag_out = at + 1;
    *length_out = (size_t)(end - at - 1);
    return end + 1;
}

bool etag_matches(const char *if_none_match, const char *tag)
{
    const char *at = if_none_match + strspn(if_none_match, " \t");
    if (*at == '*')
        return true;
    const char *given = NULL;
    size_t length = 0;
    while ((at = next_tag(at, &given, &length)))
        if (length == strlen(tag) && memcmp(given, tag, length) == 0)
            return true;
    return false;
}
