/*
 * program - the program of `run`, as pyrometer sees it: another process starts it (process_launcher.h).
 *
 * Ownership: program_start takes the socket; program_end closes it.
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_PROCESS_PROGRAM_H
#define SERVER_COMMAND_PROCESS_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct signals;

enum { PROGRAM_GRACE_MS = 2000 };

struct program {
    int socket; /* to its launcher; -1: none */
    pid_t pid;  /* 0: none */
    bool has_ended;
    int wait_status;
};

/* name: argv[0].  Fails if the program cannot be executed. */
MUST_CHECK enum err_code program_start(struct program *program, const char *name,
                                       struct err *err);

/* true: the program has ended. */
bool program_check(struct program *program);

/* Ends the program: by SIGTERM, and by SIGKILL after PROGRAM_GRACE_MS or at the user's next signal.  If
 * Ctrl-C has reached the program too, waits PROGRAM_GRACE_MS before SIGTERM. */
void program_end(struct program *program, struct signals *signals);

/* The exit status, or 128 + the signal that ended it. */
int program_exit_status(const struct program *program);

#endif /* SERVER_COMMAND_PROCESS_PROGRAM_H */
