/*
 * child - a program we start, and must not leave behind.
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

/* From now on whoever loses its parent below us is our child, as daemons do that fork twice:
 * they can be followed then.  Without it, as the kernel may refuse, they are init's. */
void child_adopt_orphans(void);

/* argv[0] is looked up in PATH.  A program that cannot be started is an error of this call. */
MUST_CHECK enum err_code child_start(struct child *child, char *const *argv,
                                     const struct signals *signals, struct err *err);

/* Collects the child if it has ended, and what was adopted and has ended; true: it has, now or
 * before. */
bool child_reap(struct child *child);

/* Ends it: a child the terminal has interrupted gets its grace to end by itself, then SIGTERM,
 * and SIGKILL after the grace or at the user's second signal. */
void child_end(struct child *child, struct signals *signals);

/* Its own exit status, or 128 + the signal that ended it. */
int child_exit_status(const struct child *child);

/* A process that waits for one word and becomes `program WORD`, on its own from there on: with
 * the rights we have now, whatever we have when the word is known.  Failing is no error. */
struct child_later {
    bool is_there; /* false: there is none, as in zeroed storage */
    int fd;
};

void child_prepare(struct child_later *later, const char *program,
                   const struct signals *signals);
/* word NULL: nothing is started after all. */
void child_start_later(struct child_later *later, const char *word);

#endif /* SERVER_COMMAND_PROCESS_CHILD_H */
