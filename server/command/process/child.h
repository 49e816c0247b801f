/*
 * child - starts programs, and ends the child of `run` before pyrometer exits.
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

enum { CHILD_GRACE_MS = 2000, CHILD_MAX_ARGUMENT = 4096 };

struct child {
    pid_t pid; /* 0: none */
    bool has_ended;
    int wait_status;
};

/* From now on a descendant whose parent has ended becomes our child, so that daemons, which fork
 * twice, can be tracked.  If the kernel refuses, such a process becomes a child of init. */
void child_adopt_orphans(void);

/* Searches PATH for argv[0].  Fails if the program cannot be executed. */
MUST_CHECK enum err_code child_start(struct child *child, char *const *argv,
                                     const struct signals *signals, struct err *err);

/* Collects the child, and adopted children, that have ended.  true: the child has ended. */
bool child_reap(struct child *child);

/* Ends the child: by SIGTERM, and by SIGKILL after CHILD_GRACE_MS or at the user's next signal.  If
 * Ctrl-C has reached the child too, waits CHILD_GRACE_MS before SIGTERM. */
void child_end(struct child *child, struct signals *signals);

/* The exit status, or 128 + the signal that ended it. */
int child_exit_status(const struct child *child);

/* A process that waits for one argument and then executes `program ARGUMENT`.  It has the rights that
 * pyrometer has when child_prepare is called.  It is not our child, and failures are ignored. */
struct prepared_child {
    bool is_waiting; /* false: none, as in zeroed storage */
    int fd;
};

void child_prepare(struct prepared_child *child, const char *program,
                   const struct signals *signals);
/* argument NULL: the process ends without executing anything. */
void child_run_prepared(struct prepared_child *child, const char *argument);

#endif /* SERVER_COMMAND_PROCESS_CHILD_H */
