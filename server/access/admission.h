/*
 * admission - which processes may be sampled and listed through HTTP: those of a listed user that run a
 * listed command.  An empty list admits all.  Whether the kernel permits it is another matter.
 *
 * A process is a listed user's if all four of its user ids are listed (real, effective, saved, of the file system).
 * One that a set-user-id program has given the rights of two users is admitted only if both are.  Groups and
 * capabilities are not compared.
 *
 * A command is a shell pattern (fnmatch) of the whole command line with one blank between its words, as in
 * "*gunicorn*" or "/usr/bin/python3 /srv/app.py*".  The command line is what the process says of itself: whoever may run
 * a program gives it any.  So commands choose among the processes of users that are trusted; users keep others out.
 *
 * Ownership: borrowed, with the patterns, for the life of this process.
 * Threads: admission_use and admission_ask before other threads start.
 * Limits: ADMISSION_MAX_USERS; PERMISSION_MAX_COMMAND bytes of a command line are compared.
 */
#ifndef SERVER_ACCESS_ADMISSION_H
#define SERVER_ACCESS_ADMISSION_H

#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "sampler/permission.h"
#include "server/settings/setting.h"

enum { ADMISSION_MAX_USERS = 32 };

struct admission {
    uid_t users[ADMISSION_MAX_USERS];
    size_t user_count;
    struct setting_texts commands;
};

/* ERR_INVALID: no such user, or too many. */
MUST_CHECK enum err_code admission_add_user(struct admission *admission, const char *name,
                                            struct err *err);

/* Has this process sample and list only these processes from now on (sampler/permission.h). */
void admission_use(const struct admission *admission);
/* Has another process, which has these lists too, say which processes are permitted. */
void admission_ask(const struct admission *admission, permission_provider *provider);

#endif /* SERVER_ACCESS_ADMISSION_H */
