#include "server/wire/service_name.h"

#include "sampler/base/python_command.h"
#include "sampler/session.h"

const char *service_name_of(const struct session_target *target)
{
    if (*target->service.name)
        return target->service.name;
    const char *text = python_command_script(target->argc, target->argv);
    if (!text)
        text = target->argc > 0 ? target->argv[0] : target->executable;
    return text && *text ? python_command_last_part(text) : "python";
}
