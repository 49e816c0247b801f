/*
 * permission - the processes that may be sampled and listed here, of those that the kernel lets us read.
 *
 * A server limits them by a rule (--allow-user, --allow-command).  The rule decides on every process that
 * is to join a session, whoever names or finds it, and again when the process has other users; and on
 * every process that processes.h lists.  Without a rule all are permitted.
 *
 * An answer is about the process, and the program in it, that had the id at that time.  A caller that reads a process
 * opens it before asking (process/process.h).  Afterwards it checks that the process still runs that program,
 * with the same users: only then does the answer hold for what it has read.
 *
 * Threads: permission_use and permission_provide before other threads start; the others any.
 * Limits: PERMISSION_MAX_COMMAND bytes of a command line.
 */
#ifndef SAMPLER_PERMISSION_H
#define SAMPLER_PERMISSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { PERMISSION_MAX_COMMAND = 4096 };

struct permission_users {
    uid_t ids[4]; /* real, effective, saved, of the file system */
};

struct permission_candidate {
    pid_t pid;
    struct permission_users users;
    /* Its words with blanks between them.  The owner of the process chooses every byte. */
    char command[PERMISSION_MAX_COMMAND + 1];
};

/* ERR_PERM: the process is not permitted. */
typedef enum err_code permission_rule(const void *context,
                                      const struct permission_candidate *candidate,
                                      struct err *err);
/* Borrows the context.  NULL: there is no rule. */
void permission_use(permission_rule *rule, const void *context);

/* Has another process answer permission_ask from now on; that process applies the rule to what it samples and lists. */
typedef enum err_code permission_provider(pid_t pid, struct err *err);
void permission_provide(permission_provider *provider);

/* ERR_PERM: the process is not permitted; ERR_GONE: there is none.  users_out: those that the rule was asked
 * with; NULL: not wanted. */
MUST_CHECK enum err_code permission_ask(pid_t pid, struct permission_users *users_out,
                                        struct err *err);

/* Can permission_ask refuse a process here? */
bool permission_has_rule(void);
/* Does the process have these users still?  true also without a rule. */
bool permission_is_same(pid_t pid, const struct permission_users *users);

#endif /* SAMPLER_PERMISSION_H */
