/*
 * child - a program that we start and do not leave behind.
 *
 * Threads: the main one.
 *
 * Depends on: signals, err.
 */
#ifndef SERVER_COMMAND_PROCESS_CHILD_H
#define SERVER_COMMAND_PROCESS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/err.h"

struct signals;

enum { CHILD_GRACE_MS = 2000, CHILD_MAX_WORD = 4096 };

struct child {
    pid_t pid; /* 0: none */
    bool has_ended;
    int wait_status;
};

/* From now on a descendant that loses its parent becomes our child, as a daemon does that forks
 * twice, so that it can be followed.  If the kernel refuses, it becomes a child of init. */
void child_adopt_orphans(void);

/* argv[0] is looked up in PATH.  A program that cannot be started is an error of this call. */
MUST_CHECK enum err_code child_start(struct child *child, char *const *argv,
                                     const struct signals *signals, struct err *err);

/* Collects the child, and adopted children, that have ended.  true: the child has ended. */
bool child_reap(struct child *child);

/* Ends the child.  One that Ctrl-C has reached too gets CHILD_GRACE_MS to end by itself; then
 * SIGTERM; then SIGKILL, after the same time or at the user's second signal. */
void child_end(struct child *child, struct signals *signals);

/* The exit status, or 128 + the signal that ended it. */
int child_exit_status(const struct child *child);

/* A process that waits for one word and then executes `program WORD`, with the rights that we
 * have when it is prepared.  It does not belong to us.  Failing is no error. */
struct child_later {
    bool is_there; /* false: none, as in zeroed storage */
    int fd;
};

void child_prepare(struct child_later *later, const char *program,
                   const struct signals *signals);
/* word NULL: ends without executing anything. */
void child_start_later(struct child_later *later, const char *word);

#endif /* SERVER_COMMAND_PROCESS_CHILD_H */
