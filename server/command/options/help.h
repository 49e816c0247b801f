/*
 * help - prints the text of --help, from the tables of commands and options.
 */
#ifndef SERVER_COMMAND_OPTIONS_HELP_H
#define SERVER_COMMAND_OPTIONS_HELP_H

#include <stdio.h>

struct command;

/* The forms of help (enum_text.h): HELP_TEXT has HELP_LINES at most, HELP_ALL everything; HELP_MAN is the manual page that
 * man_page.h prints. */
enum { HELP_TEXT, HELP_ALL, HELP_MAN, HELP_LINES = 30 };
extern const char *const help_form_texts[];
/* Texts about the whole program: what it does, and its exit status; lines that end with a
 * newline. */
extern const char help_summary[], help_exit_status[];

/* command NULL: the whole program. */
void help_print(FILE *out, const struct command *command);
void help_print_all(FILE *out, const struct command *command);

#endif /* SERVER_COMMAND_OPTIONS_HELP_H */
