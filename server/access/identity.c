#include "server/access/identity.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "server/access/capabilities.h"

enum { RANGE = IDENTITY_LAST - IDENTITY_FIRST + 1 };

static struct {
    struct process_user items[IDENTITY_ROLES];
    bool is_chosen;
} chosen;

/* systemd gives such a number to a service; a program without systemd's module of names does not know it as a user. */
static bool is_of_service(uid_t uid)
{
    char path[48];
    snprintf(path, sizeof path, "/run/systemd/dynamic-uid/%u", (unsigned)uid);
    return access(path, F_OK) == 0;
}

void identity_kill(enum identity_role role, pid_t pid)
{
    const uid_t own = geteuid();
    if (kill(pid, SIGKILL) == 0 || errno != EPERM || !chosen.is_chosen ||
        seteuid(chosen.items[role].uid) != 0)
        return;
    (void)kill(pid, SIGKILL);
    if (seteuid(own) != 0)
        _exit(1);
}

enum err_code identity_read(const char *name, struct process_user *out, struct err *err)
{
    const size_t digits = strspn(name, "0123456789");
    const bool is_number = digits > 0 && digits < 10 && name[digits] == '\0';
    const struct passwd *entry = getpwnam(name);
    if (!entry && is_number)
        entry = getpwuid((uid_t)strtoul(name, NULL, 10));
    if (!entry && !is_number)
        return err_set(err, ERR_INVALID, "no such user");
    *out = (struct process_user){ entry ? entry->pw_uid : (uid_t)strtoul(name, NULL, 10),
                                  entry ? entry->pw_gid : (gid_t)strtoul(name, NULL, 10) };
    return out->uid != 0 ? ERR_OK
                         : err_set(err, ERR_INVALID, "want a user without root's rights");
}

bool identity_find(unsigned start, uid_t *out, size_t count)
{
    bool taken[RANGE] = { false };
    size_t found = 0;
    if (count > RANGE)
        return false;

    /* The real, effective, saved and file system users of all processes. */
    DIR *const proc = opendir("/proc");
    if (proc) {
        for (const struct dirent *entry; (entry = readdir(proc));) {
            if (!isdigit((unsigned char)*entry->d_name))
                continue;

            char path[32], text[2048];
            unsigned users[4];
            snprintf(path, sizeof path, "%.20s/status", entry->d_name);
            SCOPED_FD int fd = openat(dirfd(proc), path, O_RDONLY | O_CLOEXEC);
            const ssize_t bytes = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
            if (bytes < 0)
                continue;
            text[bytes] = '\0';
            const char *const line = strstr(text, "\nUid:");
            if (!line || sscanf(line, "\nUid: %u %u %u %u", &users[0], &users[1], &users[2],
                                &users[3]) != 4)
                continue;
            for (size_t i = 0; i < 4; i++)
                if (users[i] >= IDENTITY_FIRST && users[i] <= IDENTITY_LAST)
                    taken[users[i] - IDENTITY_FIRST] = true;
        }
        closedir(proc);
    }

    for (unsigned i = 0; i < RANGE && found < count; i++) {
        const unsigned at = (start % RANGE + i) % RANGE;
        const uid_t uid = IDENTITY_FIRST + at;
        if (!taken[at] && !getpwuid(uid) && !getgrgid(uid) && !is_of_service(uid))
            out[found++] = uid;
    }
    return found == count;
}

enum err_code identity_choose(const struct process_user *named, struct err *err)
{
    const uint64_t needed = (uint64_t)1 << CAP_SETUID | (uint64_t)1 << CAP_SETGID;
    uint64_t held;
    if (chosen.is_chosen || getuid() != 0 || geteuid() != 0 || !capabilities_held(&held) ||
        (held & needed) != needed)
        return ERR_OK;

    /* A number is not the same each time: whoever is still there as the last one must not be as
     * strong as this program. */
    uid_t uids[IDENTITY_ROLES];
    unsigned start = 0;
    if (getrandom(&start, sizeof start, 0) != (ssize_t)sizeof start)
        return err_sys(err, errno, "random bytes are unavailable");
    if (!identity_find(start, uids, IDENTITY_ROLES))
        return err_set(err, ERR_LIMIT,
                       "the users %d to %d are taken: none is left for this program",
                       IDENTITY_FIRST, IDENTITY_LAST);
    for (size_t i = 0; i < IDENTITY_ROLES; i++)
        chosen.items[i] = (struct process_user){ uids[i], uids[i] };

    if (named)
        chosen.items[IDENTITY_MAIN] = *named;
    chosen.is_chosen = true;
    return ERR_OK;
}

bool identity_is_chosen(void)
{
    return chosen.is_chosen;
}

enum err_code identity_become(enum identity_role role, struct err *err)
{
    const struct process_user *const wanted = &chosen.items[role];
    if (!chosen.is_chosen)
        return ERR_OK;
    (void)prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
    /* EINVAL: our user namespace does not have it. */
    if (setresgid(wanted->gid, wanted->gid, wanted->gid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change the group");
    if (setgroups(0, NULL) != 0 && getgroups(0, NULL) > 0)
        return err_sys(err, errno, "cannot leave the supplementary groups");
    if (setresuid(wanted->uid, wanted->uid, wanted->uid) != 0)
        return errno == EINVAL ? ERR_OK : err_sys(err, errno, "cannot change the user");
    return ERR_OK;
}
