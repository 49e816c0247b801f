/*
 * man_page - prints the manual page of the program or of a command in roff (man(7)), from the tables of
 * commands and options.
 *
 *     pyrometer --help=man | man -l -
 */
#ifndef SERVER_COMMAND_OPTIONS_MAN_PAGE_H
#define SERVER_COMMAND_OPTIONS_MAN_PAGE_H

#include <stdio.h>

struct command;

/* command NULL: the whole program. */
void man_page_print(FILE *out, const struct command *command);

#endif /* SERVER_COMMAND_OPTIONS_MAN_PAGE_H */
