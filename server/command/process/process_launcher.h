/*
 * process_launcher - the process that starts the program of `run`, and is its parent.
 *
 * It is a child of the process that samples, because a kernel may let a process read its descendants only (Yama).  The program
 * needs all rights of the user, so its process is forked at the beginning and waits.  The launcher then gives up its own
 * rights but that of ending the program.
 *
 * With --subprocesses a descendant whose parent has ended becomes its child, so that daemons, which fork twice, can be
 * tracked.
 */
#ifndef SERVER_COMMAND_PROCESS_PROCESS_LAUNCHER_H
#define SERVER_COMMAND_PROCESS_PROCESS_LAUNCHER_H

#include <signal.h>
#include <stdnoreturn.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct options;

/* A message of the socket (SOCK_SEQPACKET), in either direction. */
struct launch_message {
    enum launch_kind {
        LAUNCH_START = 1, /* start the program */
        LAUNCH_SIGNAL,    /* value: SIGTERM or SIGKILL, for the program */
        LAUNCH_STARTED,   /* value: its process id */
        LAUNCH_FAILED,    /* value: why not, an errno */
        LAUNCH_ENDED,     /* value: its wait status */
    } kind;
    int value;
};

/* The user's command, or the interpreter that runs the user's script or module. */
const char *process_launcher_program(const struct options *options);

/* Starts it as a child of this process, which samples itself.  Comes before any right is given up. */
MUST_CHECK enum err_code process_launcher_start(const struct options *options, int *socket_out,
                                                pid_t *pid_out, struct err *err);

/* In a process of its own, which ends when nobody is left to ask it; the program goes on then.  Descriptors without close-on-exec
 * are the program's, and so is the mask of signals. */
noreturn void process_launcher_run(const struct options *options, int socket,
                                   const sigset_t *mask);

#endif /* SERVER_COMMAND_PROCESS_PROCESS_LAUNCHER_H */
