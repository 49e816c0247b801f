/*
 * identity - the users that our processes become when root has started the program.
 *
 * A process can stop and end another one of the same user, and change its limits.  So each of our processes becomes a user
 * of its own: a number without a name that no process runs as, from the range that systemd keeps for services
 * without a user (DynamicUser=).  Its group has the same number.
 *
 * If another user than root has started the program, all of its processes have that user.
 *
 * Threads: the main one, before others start.  A process that is forked after identity_choose knows all of them.
 */
#ifndef SERVER_ACCESS_IDENTITY_H
#define SERVER_ACCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"

enum { IDENTITY_FIRST = 61184, IDENTITY_LAST = 65519 };

enum identity_role {
    IDENTITY_MAIN, /* the HTTP process, and every command that is one process */
    IDENTITY_READER,
    IDENTITY_SOURCE,
    IDENTITY_KEEPER,
    IDENTITY_FILES,
    IDENTITY_LAUNCHER,
    IDENTITY_STACKS,
    IDENTITY_ROLES
};

struct process_user {
    uid_t uid;
    gid_t gid;
};

/* Ends a process that has become that one, without CAP_KILL as its user for a moment. */
void identity_kill(enum identity_role role, pid_t pid);

/* A user by name or number.  ERR_INVALID: there is none, or it is root. */
MUST_CHECK enum err_code identity_read(const char *name, struct process_user *out,
                                       struct err *err);

/* Chooses for all roles; `named`: the one of IDENTITY_MAIN, NULL: a number as well.  Does nothing if root has not started the
 * program, or has no right to change users, or if it was called before.  ERR_LIMIT: the numbers do not suffice. */
MUST_CHECK enum err_code identity_choose(const struct process_user *named, struct err *err);
bool identity_is_chosen(void);

/* Becomes that user for good, in no other group; capabilities stay permitted, but not effective.  Does nothing if none was
 * chosen, or if the user namespace does not have the number. */
MUST_CHECK enum err_code identity_become(enum identity_role role, struct err *err);

/* The first numbers from `start` on (any; it wraps around) that no user, group or process has.  false: there are fewer. */
bool identity_find(unsigned start, uid_t *out, size_t count);

#endif /* SERVER_ACCESS_IDENTITY_H */
