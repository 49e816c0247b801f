/*
 * signals - waits for SIGINT, SIGTERM, SIGHUP, SIGCHLD or a readable descriptor.
 *
 * The signals are blocked before any thread starts, and are read from a descriptor, so that no code
 * runs in a signal handler.
 *
 * Threads: the main one only.
 */
#ifndef SERVER_COMMAND_PROCESS_SIGNALS_H
#define SERVER_COMMAND_PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "sampler/base/err.h"

struct signals {
    int fd;
    sigset_t before;  /* the mask for a child */
    int stopped_by;   /* the first signal that asked the program to stop, 0: none */
    bool by_terminal; /* a key such as Ctrl-C sent it to the whole process group */
};

enum signals_event { SIGNALS_STOP, SIGNALS_CHILD, SIGNALS_READABLE, SIGNALS_TIMEOUT };

MUST_CHECK enum err_code signals_init(struct signals *signals, struct err *err);
/* Unblocks the signals: from now on a signal ends the program at once. */
void signals_deinit(struct signals *signals);

/* Waits for a signal, until `fd` (-1: none) is readable, or until the timeout (-1: none).
 * If several events happened, returns SIGNALS_STOP first. */
enum signals_event signals_wait(struct signals *signals, int fd, int timeout_ms);

/* True if a signal that asks the program to stop has come and was not read yet.  Any thread. */
bool signals_are_pending(void);

/* Forgets those that have come and were not read yet. */
void signals_forget(struct signals *signals);

/* For a child, between fork and exec: restores mask and dispositions. */
void signals_reset_in_child(const struct signals *signals);

#endif /* SERVER_COMMAND_PROCESS_SIGNALS_H */
