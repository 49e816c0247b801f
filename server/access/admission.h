/*
 * admission - which processes may be read through HTTP: those of a listed user that run a listed
 * command.  An empty list admits all.  Whether the kernel permits it is another matter.
 *
 * A user is a name or a number; a command is a shell pattern (fnmatch) of the whole command line
 * with one blank between its words, as in "*gunicorn*" or "/usr/bin/python3 /srv/app.py*".
 *
 * Ownership: patterns are borrowed.
 * Threads: fill first, then any.
 * Limits: ADMISSION_MAX_USERS; ADMISSION_MAX_COMMAND bytes of a command line are compared.
 * Depends on: err, setting.
 */
#ifndef SERVER_ACCESS_ADMISSION_H
#define SERVER_ACCESS_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "sampler/base/err.h"
#include "server/settings/setting.h"

enum { ADMISSION_MAX_USERS = 32, ADMISSION_MAX_COMMAND = 4096 };

struct admission {
    uid_t users[ADMISSION_MAX_USERS];
    size_t user_count;
    struct setting_texts commands;
};

/* ERR_INVALID: no such user, or too many. */
MUST_CHECK enum err_code admission_add_user(struct admission *admission, const char *name,
                                            struct err *err);

/* True: every process is admitted. */
bool admission_is_open(const struct admission *admission);
/* ERR_PERM: the process is not admitted; ERR_GONE: there is no such process. */
MUST_CHECK enum err_code admission_check(const struct admission *admission, pid_t pid,
                                         struct err *err);

/* From now on another process decides, which sees all processes.  Call it before other threads start. */
typedef enum err_code admission_ask(pid_t pid, struct err *err);
void admission_use(admission_ask *ask);

#endif /* SERVER_ACCESS_ADMISSION_H */
