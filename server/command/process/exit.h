/*
 * exit - how a command ends: a message for the user, a status for the shell.
 *
 * Threads: say: any; the others: the main one.
 */
#ifndef SERVER_COMMAND_PROCESS_EXIT_H
#define SERVER_COMMAND_PROCESS_EXIT_H

#include "sampler/base/err.h"

enum exit_status {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_PERMITTED = 3,
    EXIT_NO_TARGET = 4,
    EXIT_CONDITION = 5, /* one of --fail-if holds */
};

enum exit_status exit_status_of(enum err_code code);

/* Prints "pyrometer: message" on standard error, on one line, as plain_text shows it.  Replaces a line of say_for_now. */
void say(const char *format, ...) PRINTF_LIKE(1, 2);

/* For a terminal: replaces the line that the last call wrote.  An empty text removes that line. */
void say_for_now(const char *format, ...) PRINTF_LIKE(1, 2);

/* Flushes standard output.  A closed pipe is not an error. */
MUST_CHECK enum err_code exit_flush(struct err *err);

/* Adds how one of several processes went: keeps the first failure in *code and *first, for exit_with, and prints others. */
void exit_add(enum err_code failure, const struct err *err, enum err_code *code,
              struct err *first);

/* Prints the message of `err` if `code` is not ERR_OK; otherwise flushes standard output and reports a
 * failure of that.  Returns the exit status. */
int exit_with(enum err_code code, const struct err *err);

#endif /* SERVER_COMMAND_PROCESS_EXIT_H */
