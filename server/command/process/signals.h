/*
 * signals - what a command waits for: the user, its child, the end of sampling.
 *
 * SIGINT, SIGTERM, SIGHUP and SIGCHLD are blocked before any thread is started and read from a
 * descriptor, so nothing ever runs in a signal handler.
 *
 * Threads: the main one only.
 * Depends on: err.
 */
#ifndef SERVER_COMMAND_PROCESS_SIGNALS_H
#define SERVER_COMMAND_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "sampler/base/err.h"

struct signals {
    int fd;
    sigset_t before;  /* the mask to give a child */
    int stopped_by;   /* the first signal that asked us to stop, 0: none */
    bool by_terminal; /* it was a key, so the whole process group got it */
};

enum signals_event { SIGNALS_STOP, SIGNALS_CHILD, SIGNALS_READABLE, SIGNALS_TIMEOUT };

MUST_CHECK enum err_code signals_init(struct signals *signals, struct err *err);
/* Gives the signals back: the next one ends us at once. */
void signals_deinit(struct signals *signals);

/* Waits for a signal, for `fd` (-1: none) to become readable, or for the time to be over
 * (-1: never).  A wish to stop comes before anything that happened at the same time. */
enum signals_event signals_wait(struct signals *signals, int fd, int timeout_ms);

/* One of those that ask us to stop has come and was not yet read.  Any thread. */
bool signals_are_pending(void);

/* For a child, between fork and exec. */
void signals_reset_in_child(const struct signals *signals);

#endif /* SERVER_COMMAND_PROCESS_SIGNALS_H */
