/*
 * completion - what a shell needs to complete command lines, made of the tables of commands,
 * options and formats.
 *
 *     eval "$(pyrometer --completion bash)"         or zsh
 *     pyrometer --completion fish | source
 *
 * Depends on: commands, options.
 */
#ifndef SERVER_COMMAND_OPTIONS_COMPLETION_H
#define SERVER_COMMAND_OPTIONS_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

bool completion_knows(const char *shell);
/* Of a shell that is known. */
void completion_print(FILE *out, const char *shell);

#endif /* SERVER_COMMAND_OPTIONS_COMPLETION_H */
