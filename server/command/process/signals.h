/*
 * signals - waits for signals of the user, the end of the child and a descriptor.
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
/* Unblocks the signals: from now on one ends us at once. */
void signals_deinit(struct signals *signals);

/* Waits for a signal, until `fd` (-1: none) is readable, or until the timeout (-1: none).
 * SIGNALS_STOP comes before anything else that happened at the same time. */
enum signals_event signals_wait(struct signals *signals, int fd, int timeout_ms);

/* Has a signal that asks us to stop come that nobody has read yet?  Any thread. */
bool signals_are_pending(void);

/* For a child, between fork and exec: restores mask and dispositions. */
void signals_reset_in_child(const struct signals *signals);

#endif /* SERVER_COMMAND_PROCESS_SIGNALS_H */
