/*
 * completion - prints scripts that complete command lines, from the tables of commands, options and
 * formats.
 *
 *     eval "$(pyrometer --completion bash)"         or zsh
 *     pyrometer --completion fish | source
 */
#ifndef SERVER_COMMAND_OPTIONS_COMPLETION_H
#define SERVER_COMMAND_OPTIONS_COMPLETION_H

#include <stdio.h>

/* shell: of completion_texts. */
void completion_print(FILE *out, unsigned shell);

#endif /* SERVER_COMMAND_OPTIONS_COMPLETION_H */
