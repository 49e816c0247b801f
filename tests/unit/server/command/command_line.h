/*
 * command_line - reads a command line that is given as one text.
 *
 * Threads: one, as the words live in static memory until the next call.
 */
#ifndef TESTS_UNIT_SERVER_COMMAND_COMMAND_LINE_H
#define TESTS_UNIT_SERVER_COMMAND_COMMAND_LINE_H

#include "server/command/options/options.h"

/* As the program reads its arguments; `text` is split at spaces. */
enum err_code parse_text(const char *text, struct options *options, struct err *err);

#endif /* TESTS_UNIT_SERVER_COMMAND_COMMAND_LINE_H */
