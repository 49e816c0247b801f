#include "sampler/base/enum_text.h"

#include <string.h>

int enum_find(const char *const *texts, const char *text)
{
    for (int i = 0; texts[i]; i++)
        if (strcmp(texts[i], text) == 0)
            return i;
    return -1;
}
