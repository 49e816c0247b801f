/*
 * command_runner - a process that runs the user's command for each event, with the rights that pyrometer has at its start.
 *
 * The command is given to sh -c, one at a time, without standard input; its environment has PYROMETER_EVENT, PYROMETER_PID,
 * PYROMETER_DUMP and PYROMETER_CAPTURE (files; empty if there is none).  Events that come while it runs wait, up to what a
 * pipe holds.  Nothing of them is in the text that sh reads.
 *
 * Threads: the main one.
 */
#ifndef SERVER_COMMAND_PROCESS_COMMAND_RUNNER_H
#define SERVER_COMMAND_PROCESS_COMMAND_RUNNER_H

#include <limits.h>

#include "sampler/base/err.h"

struct signals;

struct command_event {
    char kind[32], pid[16];
    char dump[PATH_MAX / 4],
        capture[PATH_MAX / 4]; /* less than PIPE_BUF, so that it comes whole */
};

/* Comes before any right is given up.  Returns the descriptor that command_runner_run and command_runner_stop take. */
MUST_CHECK enum err_code command_runner_start(const char *command,
                                              const struct signals *signals, int *fd_out,
                                              struct err *err);
/* ERR_LIMIT: too many events wait. */
MUST_CHECK enum err_code command_runner_run(int fd, const struct command_event *event,
                                            struct err *err);
/* Events that wait are still run; -1 is fine. */
void command_runner_stop(int fd);

#endif /* SERVER_COMMAND_PROCESS_COMMAND_RUNNER_H */
