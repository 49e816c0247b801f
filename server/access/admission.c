#include "server/access/admission.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

enum err_code admission_add_user(struct admission *admission, const char *name, struct err *err)
{
    const size_t digits = strspn(name, "0123456789");
    const struct passwd *const entry = getpwnam(name);
    const bool is_number = digits > 0 && digits < 11 && name[digits] == '\0';
    if (admission->user_count == ADMISSION_MAX_USERS)
        return err_set(err, ERR_INVALID, "it is given more than %d times", ADMISSION_MAX_USERS);
    if (!entry && !is_number)
        return err_set(err, ERR_INVALID, "no such user");
    admission->users[admission->user_count++] =
        entry ? entry->pw_uid : (uid_t)strtoul(name, NULL, 10);
    return ERR_OK;
}

bool admission_is_open(const struct admission *admission)
{
    return admission->user_count + admission->commands.count == 0;
}

static bool matches(const struct admission *admission, uid_t user, const char *command)
{
    bool has_user = admission->user_count == 0, has_command = admission->commands.count == 0;
    for (size_t i = 0; i < admission->user_count; i++)
        has_user |= admission->users[i] == user;
    for (size_t i = 0; i < admission->commands.count; i++)
        has_command |= fnmatch(admission->commands.items[i], command, 0) == 0;
    return has_user && has_command;
}

/* Its words with blanks between them. */
static bool read_command(int folder, char out[ADMISSION_MAX_COMMAND + 1])
{
    SCOPED_FD int fd = openat(folder, "cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : read(fd, out, ADMISSION_MAX_COMMAND);
    if (bytes < 0)
        return false;
    out[bytes] = '\0';
    size_t length = (size_t)bytes;
    while (length > 0 && out[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (out[i] == '\0')
            out[i] = ' ';
    return true;
}

/* Of the process, whoever its /proc files are given to. */
static bool read_user(int folder, uid_t *out)
{
    char text[2048];
    unsigned user = 0;
    SCOPED_FD int fd = openat(folder, "status", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (bytes < 0)
        return false;
    text[bytes] = '\0';
    const char *const line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u", &user) != 1)
        return false;
    *out = user;
    return true;
}

static admission_ask *ask; /* NULL: this process decides */

void admission_use(admission_ask *other)
{
    ask = other;
}

enum err_code admission_check(const struct admission *admission, pid_t pid, struct err *err)
{
    char path[32], command[ADMISSION_MAX_COMMAND + 1];
    uid_t user = 0;
    if (admission_is_open(admission))
        return ERR_OK;
    if (ask)
        return ask(pid, err);
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    /* One folder is one process, also when its number is used again. */
    SCOPED_FD int folder = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (folder < 0 || !read_user(folder, &user) || !read_command(folder, command))
        return err_set(err, ERR_GONE, "no process %d", (int)pid);
    if (!matches(admission, user, command))
        return err_set(
            err, ERR_PERM,
            "profiling process %d is not permitted on this server (--allow-user, --allow-command)",
            (int)pid);
    return ERR_OK;
}
