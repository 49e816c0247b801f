#include "server/report/known_names.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#include "server/report/known_names.inc"
};

struct word {
    const char *text;
    size_t length;
};

static int compare_names(const void *key, const void *item)
{
    const struct word *const word = key;
    const char *const name = *(const char *const *)item;
    const int order = strncmp(word->text, name, word->length);
    return order != 0 ? order : name[word->length] == '\0' ? 0 : -1;
}

bool known_names_has(const char *name, size_t length)
{
    const struct word word = { name, length };
    return length > 0 && bsearch(&word, names, sizeof names / sizeof *names, sizeof *names,
                                 compare_names) != NULL;
}
