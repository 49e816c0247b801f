/*
 * terminal - the user's terminal as a screen of our own, and as it was before.
 *
 * Entered, it shows another screen without echo, line editing or cursor; left, all is as it was.
 * It is left at every end that a program can have a say in: terminal_leave, Ctrl-Z (entered again
 * when we go on), and signals of a crash.  What is said on standard error meanwhile would spoil the
 * screen: it is kept, and said when the screen is left.
 *
 * Ownership: the caller's storage; a zeroed one that was never entered may be left.
 * Threads: the main one; terminal_init before others are started, as it blocks signals.
 * Limits: one at a time.
 * Depends on: err.
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
    int signal_fd; /* SIGWINCH and SIGTSTP; readable: ask terminal_heed */
    sigset_t before;
    int error_fd; /* standard error as it was; -1: it is no terminal */
    int said_fd;  /* what was said instead */
    bool is_open, is_entered;
    bool has_colours; /* unless NO_COLOR */
};

/* ERR_INVALID: standard input or output is no terminal, or one without a cursor. */
MUST_CHECK enum err_code terminal_init(struct terminal *terminal, struct err *err);
void terminal_deinit(struct terminal *terminal);

MUST_CHECK enum err_code terminal_enter(struct terminal *terminal, struct err *err);
void terminal_leave(struct terminal *terminal);

/* Does what a signal asks for: after Ctrl-Z it returns when we go on.  Draw anew afterwards. */
void terminal_heed(struct terminal *terminal);

/* 80 x 24 where it cannot be known. */
void terminal_size(const struct terminal *terminal, unsigned *columns_out, unsigned *rows_out);
/* Writes a picture, all of it.  false: nobody sees it any more. */
bool terminal_show(const struct terminal *terminal, const char *data, size_t bytes);
/* The last line that was said on standard error; "": none. */
void terminal_said(const struct terminal *terminal, char *out, size_t bytes);

#endif /* SERVER_TOP_TERMINAL_H */
