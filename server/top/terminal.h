/*
 * terminal - takes over the user's terminal, and restores it.
 *
 * terminal_enter switches to the alternate screen, without echo, line editing or cursor.
 * terminal_leave restores what was there before; so do Ctrl-Z, until the program continues, and the
 * signals of a crash.  Meanwhile messages on standard error are collected, because they would
 * damage the screen; terminal_leave writes them.
 *
 * Ownership: the caller's storage; terminal_leave accepts a zeroed struct.
 * Threads: the main one; terminal_init before others start, because it blocks signals.
 * Limits: one terminal at a time.
 */
#ifndef SERVER_TOP_TERMINAL_H
#define SERVER_TOP_TERMINAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "sampler/base/err.h"

enum { TERMINAL_MAX_COLUMNS = 1000, TERMINAL_MAX_ROWS = 500 };

struct terminal {
    int signal_fd; /* SIGWINCH and SIGTSTP; once it is readable call terminal_take_signals */
    sigset_t before;
    int error_fd;    /* standard error as it was; -1: it is not a terminal */
    int messages_fd; /* stands in for standard error, and collects messages */
    bool is_open, is_entered;
    bool has_colours; /* unless NO_COLOR */
};

/* ERR_INVALID: standard input or output is not a terminal with a cursor. */
MUST_CHECK enum err_code terminal_init(struct terminal *terminal, struct err *err);
void terminal_deinit(struct terminal *terminal);

MUST_CHECK enum err_code terminal_enter(struct terminal *terminal, struct err *err);
void terminal_leave(struct terminal *terminal);

/* Handles signals that have come.  After Ctrl-Z it returns once the program continues.  Draw again
 * afterwards. */
void terminal_take_signals(struct terminal *terminal);

/* 80 x 24 if the size is unknown. */
void terminal_size(const struct terminal *terminal, unsigned *columns_out, unsigned *rows_out);
/* Writes all bytes.  false: the terminal has gone. */
bool terminal_show(const struct terminal *terminal, const char *data, size_t bytes);
/* The last line of the collected messages; "": none. */
void terminal_last_message(const struct terminal *terminal, char *out, size_t bytes);

#endif /* SERVER_TOP_TERMINAL_H */
