#include "server/command/execute.h"

#include <stddef.h>

#include "server/command/command.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"

static const struct {
    unsigned bit;
    int (*execute)(const struct options *options);
} commands[] = {
    { COMMAND_ATTACH, command_attach }, { COMMAND_RUN, command_run },
    { COMMAND_RECORD, command_record }, { COMMAND_REPLAY, command_replay },
    { COMMAND_SERVE, command_serve },   { COMMAND_MERGE, command_merge },
    { COMMAND_DIFF, command_diff },     { COMMAND_TOP, command_top },
    { COMMAND_DUMP, command_dump },     { COMMAND_WATCH, command_watch },
    { COMMAND_DOCTOR, command_doctor }, { COMMAND_MCP, command_mcp },
    { COMMAND_PUSH, command_push },
};

int execute(const struct options *options)
{
    size_t i = 0;
    while (commands[i].bit != options->command->bit)
        i++;
    return commands[i].execute(options);
}
