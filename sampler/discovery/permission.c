#include "sampler/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

/* A process may change its users while it is read, but not each time. */
enum { ATTEMPTS = 8 };
/* The line of the users is among the first of /proc/PID/status. */
enum { STATUS_BYTES = 2048 };

static permission_rule *rule; /* NULL: there is none */
static const void *rule_context;
static permission_provider *provider; /* NULL: this process */

void permission_use(permission_rule *used, const void *context)
{
    rule = used;
    rule_context = context;
}

void permission_provide(permission_provider *other)
{
    provider = other;
}

/* One folder of /proc is one process, also when its id is used again.  -1: there is none. */
static int open_process(pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
}

/* The length; -1: the process has ended. */
static ssize_t read_file(int folder, const char *name, char *out, size_t room)
{
    SCOPED_FD int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : read(fd, out, room - 1);
    out[bytes > 0 ? bytes : 0] = '\0';
    return bytes;
}

/* The kernel escapes newlines in the name of the process, which precedes them. */
static bool read_users(int folder, struct permission_users *out)
{
    char text[STATUS_BYTES];
    unsigned ids[4];
    if (read_file(folder, "status", text, sizeof text) < 0)
        return false;
    const char *const line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return false;
    for (size_t i = 0; i < 4; i++)
        out->ids[i] = ids[i];
    return true;
}

static bool are_same(const struct permission_users *a, const struct permission_users *b)
{
    return memcmp(a->ids, b->ids, sizeof a->ids) == 0;
}

/* The command line is that of a program which has these users. */
static enum err_code describe_user(pid_t pid, struct permission_candidate *out, struct err *err)
{
    SCOPED_FD int folder = open_process(pid);
    struct permission_users after;
    out->pid = pid;
    for (int i = 0; i < ATTEMPTS; i++) {
        ssize_t length = -1;
        if (folder >= 0 && read_users(folder, &out->users))
            length = read_file(folder, "cmdline", out->command, sizeof out->command);
        if (length < 0 || !read_users(folder, &after))
            return err_set(err, ERR_GONE, "no process %d", (int)pid);
        while (length > 0 && out->command[length - 1] == '\0')
            length--;
        for (ssize_t k = 0; k < length; k++)
            if (out->command[k] == '\0')
                out->command[k] = ' ';
        if (are_same(&out->users, &after))
            return ERR_OK;
    }
    return err_set(err, ERR_PERM, "process %d changes its user all the time", (int)pid);
}

enum err_code permission_ask(pid_t pid, struct permission_users *users_out, struct err *err)
{
    struct permission_candidate candidate;
    if (provider)
        return provider(pid, err);
    if (!rule)
        return ERR_OK;
    enum err_code rc = describe_user(pid, &candidate, err);
    if (!rc)
        rc = rule(rule_context, &candidate, err);
    if (!rc && users_out)
        *users_out = candidate.users;
    return rc;
}

bool permission_has_rule(void)
{
    return rule != NULL;
}

bool permission_is_same(pid_t pid, const struct permission_users *users)
{
    struct permission_users now;
    if (!rule)
        return true;
    SCOPED_FD int folder = open_process(pid);
    return folder >= 0 && read_users(folder, &now) && are_same(&now, users);
}
