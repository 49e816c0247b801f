#include "server/http/accept.h"

#include <string.h>
#include <strings.h>

enum { WHOLE = 1000 };

/* The weight of a range, in thousandths: "text/html;q=0.5" is 500. */
static unsigned weight_of(const char *range, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (range[i] != ';')
            continue;
        i += 1 + strspn(range + i + 1, " \t");
        if (i + 2 >= length || strncasecmp(range + i, "q=", 2) != 0)
            continue;
        unsigned weight = range[i + 2] == '1' ? WHOLE : 0, digit = WHOLE / 10;
        if (range[i + 2] != '0' || range[i + 3] != '.')
            return weight;
        for (size_t at = i + 4; at < length && range[at] >= '0' && range[at] <= '9'; at++) {
            weight += (unsigned)(range[at] - '0') * digit;
            digit /= 10;
        }
        return weight;
    }
    return WHOLE;
}

/* How precisely the range names the type; 0: not at all. */
static unsigned precision_of(const char *range, size_t length, const char *type)
{
    const size_t name = strcspn(range, "; \t,");
    const size_t used = name < length ? name : length;
    const size_t family = strcspn(type, "/") + 1;
    if (used == strlen(type) && strncasecmp(range, type, used) == 0)
        return 3;
    if (used == family + 1 && range[family] == '*' && strncasecmp(range, type, family) == 0)
        return 2;
    return used == 3 && strncmp(range, "*/*", 3) == 0;
}

size_t accept_choose(const char *accept, const char *const types[], size_t count)
{
    size_t chosen = 0;
    unsigned most = 0;
    for (size_t i = 0; accept && i < count; i++) {
        const char *const type = types[i];
        unsigned best = 0, weight = 0;
        for (const char *range = accept; *range;) {
            range += strspn(range, ", \t");
            const size_t length = strcspn(range, ",");
            const unsigned precision = precision_of(range, length, type);
            if (precision > best) {
                best = precision;
                weight = weight_of(range, length);
            }
            range += length;
        }

        if (weight > most) {
            most = weight;
            chosen = i;
        }
    }
    return chosen;
}
