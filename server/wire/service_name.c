#include "server/wire/service_name.h"

#include <stdbool.h>
#include <string.h>

#include "sampler/sampler.h"

/* What an interpreter runs, as it was written; NULL: code of its command line or input. */
static const char *script_of(const struct sampler_target *target)
{
    for (size_t i = 1; i < target->argc; i++) {
        const char *const word = target->argv[i];
        const bool has_next = i + 1 < target->argc;
        if (strcmp(word, "-m") == 0 && has_next)
            return target->argv[i + 1];
        if (strcmp(word, "-c") == 0 || strcmp(word, "-") == 0)
            return NULL;
        if (*word != '-' && *word)
            return word;
        if ((strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0) && has_next)
            i++;
    }
    return NULL;
}

const char *service_name_of(const struct sampler_target *target)
{
    if (*target->service.name)
        return target->service.name;
    const char *text = script_of(target);
    if (!text)
        text = target->argc > 0 ? target->argv[0] : target->executable;
    const char *const slash = text ? strrchr(text, '/') : NULL;
    text = slash && slash[1] ? slash + 1 : text;
    return text && *text ? text : "python";
}
