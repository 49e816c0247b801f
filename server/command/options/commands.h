/*
 * commands - the table of commands.
 */
#ifndef SERVER_COMMAND_OPTIONS_COMMANDS_H
#define SERVER_COMMAND_OPTIONS_COMMANDS_H

#include <stddef.h>

struct command;

/* NULL: unknown. */
const struct command *command_find(const char *name);
/* NULL: fewer than index + 1. */
const struct command *command_at(size_t index);

#endif /* SERVER_COMMAND_OPTIONS_COMMANDS_H */
