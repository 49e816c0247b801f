#include "server/wire/service_name.h"

#include "sampler/base/script_word.h"
#include "sampler/sampler.h"

const char *service_name_of(const struct sampler_target *target)
{
    if (*target->service.name)
        return target->service.name;
    const char *text = script_word(target->argc, target->argv);
    if (!text)
        text = target->argc > 0 ? target->argv[0] : target->executable;
    return text && *text ? last_part(text) : "python";
}
