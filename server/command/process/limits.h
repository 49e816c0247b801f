/*
 * limits - the limit on open files (RLIMIT_NOFILE), of which each target, and each of its threads, needs
 * some; and that on the size of a file (RLIMIT_FSIZE), which is an error of a write here and not a signal.
 *
 * Threads: the main one, before others start; limits_restore also in a child after fork.
 */
#ifndef SERVER_COMMAND_PROCESS_LIMITS_H
#define SERVER_COMMAND_PROCESS_LIMITS_H

#include "sampler/base/err.h"

/* Enough for the server itself, one session and some connections. */
enum { LIMITS_LEAST_SERVING = 40 };

/* Raises the soft limit of open files to the hard limit. */
void limits_raise(void);
/* ERR_LIMIT: the limit is too low for a server. */
MUST_CHECK enum err_code limits_check_serving(struct err *err);
/* Restores what was before, in a program that pyrometer starts. */
void limits_restore(void);

#endif /* SERVER_COMMAND_PROCESS_LIMITS_H */
