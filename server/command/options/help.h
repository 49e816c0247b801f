/*
 * help - prints the text of --help, from the tables of commands and options.
 *
 * Depends on: options, commands.
 */
#ifndef SERVER_COMMAND_OPTIONS_HELP_H
#define SERVER_COMMAND_OPTIONS_HELP_H

#include <stdio.h>

struct command;

/* command NULL: the whole program. */
void help_print(FILE *out, const struct command *command);

#endif /* SERVER_COMMAND_OPTIONS_HELP_H */
