#include "server/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "server/buffer.h"

enum { MAX_GROUPS = 256 };

/* What this thread was before it took the owner's rights. */
struct rights {
    bool taken;
    uid_t uid;
    gid_t gid;
    gid_t groups[MAX_GROUPS];
    int group_count;
};

enum err_code source_open(struct source_root *root, pid_t pid, struct err *err)
{
    char path[64];
    struct stat owner;
    *root = (struct source_root)SOURCE_NONE;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &owner) != 0)
        return err_sys(err, errno, "cannot see process %d", (int)pid);
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    root->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0)
        return err_sys(err, errno, "cannot open the root of process %d", (int)pid);
    root->uid = owner.st_uid;
    root->gid = owner.st_gid;
    return ERR_OK;
}

void source_close(struct source_root *root)
{
    if (root->fd >= 0)
        close(root->fd);
    root->fd = -1;
}

/* By system calls, as the library would change all threads.  fsuid decides about files, and with
 * it go the capabilities that override permissions. */
static bool set_groups(int count, const gid_t *groups)
{
    return syscall(SYS_setgroups, count, groups) == 0;
}

static void give_back(const struct rights *rights)
{
    if (!rights->taken)
        return;
    setfsuid(rights->uid);
    setfsgid(rights->gid);
    if (!set_groups(rights->group_count, rights->groups))
        abort(); /* going on with rights that are not ours would be worse */
}

static bool take(const struct source_root *root, struct rights *rights)
{
    const uid_t nobody = (uid_t)-1;
    *rights = (struct rights){ .uid = geteuid(), .gid = getegid() };
    if (rights->uid == root->uid)
        return true;
    rights->group_count = getgroups(MAX_GROUPS, rights->groups);
    if (rights->group_count < 0 || !set_groups(1, &root->gid))
        return false;
    rights->taken = true;
    setfsgid(root->gid);
    setfsuid(root->uid);
    if ((uid_t)setfsuid(nobody) == root->uid && (gid_t)setfsgid((gid_t)-1) == root->gid)
        return true;
    give_back(rights);
    return false;
}

/* Files of the kernel look regular and are not: reading them says things, or does them. */
static bool is_ordinary(int fd)
{
    static const long kernel_made[] = { PROC_SUPER_MAGIC,   SYSFS_MAGIC,
                                        DEBUGFS_MAGIC,      TRACEFS_MAGIC,
                                        SECURITYFS_MAGIC,   CGROUP_SUPER_MAGIC,
                                        CGROUP2_SUPER_MAGIC };
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return false;
    for (size_t i = 0; i < sizeof kernel_made / sizeof *kernel_made; i++)
        if ((long)system.f_type == kernel_made[i])
            return false;
    return true;
}

static int open_beneath(const struct source_root *root, const char *path)
{
    const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
                                  .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    return (int)syscall(SYS_openat2, root->fd, path, &how, sizeof how);
}

static enum err_code refused(int sys, struct err *err)
{
    err_sys(err, sys, "cannot read a source file");
    if (sys == ENOENT || sys == ENOTDIR || sys == ELOOP)
        return err_set(err, ERR_NOT_FOUND, "there is no such source file");
    return sys == EACCES || sys == EPERM
               ? err_set(err, ERR_PERM, "the owner of the process may not read the source file")
               : ERR_SYS;
}

/* Looked at before it is opened, since opening a device may already do something. */
static enum err_code open_file(const struct source_root *root, const char *path, int *fd_out,
                               struct stat *status, struct err *err)
{
    char again[64];
    const int handle = open_beneath(root, path);
    if (handle < 0)
        return refused(errno, err);
    const bool is_file = fstat(handle, status) == 0 && S_ISREG(status->st_mode);
    const bool is_good = is_file && is_ordinary(handle);
    snprintf(again, sizeof again, "/proc/self/fd/%d", handle);
    *fd_out = is_good ? open(again, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    const int sys = errno;
    close(handle);
    if (!is_good)
        return err_set(err, ERR_INVALID, "the source file is no ordinary file");
    return *fd_out < 0 ? refused(sys, err) : ERR_OK;
}

static enum err_code read_all(int fd, struct buffer *out, struct err *err)
{
    enum { STEP = 1 << 16 };
    buffer_clear(out);
    for (;;) {
        char *const room = buffer_reserve(out, STEP);
        if (!room)
            return buffer_check(out, err);
        const ssize_t got = read(fd, room, STEP);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return refused(errno, err);
        if (got == 0)
            return ERR_OK;
        buffer_grow(out, (size_t)got);
        if (out->length > SOURCE_MAX_BYTES)
            return err_set(err, ERR_LIMIT, "the source file is larger than %d MiB",
                           SOURCE_MAX_BYTES >> 20);
    }
}

enum err_code source_read(const struct source_root *root, const char *path, size_t length,
                          struct buffer *out, uint64_t *changed_ns_out, struct err *err)
{
    char name[PATH_MAX];
    struct rights rights;
    struct stat status;
    int fd = -1;
    if (root->fd < 0)
        return err_set(err, ERR_NOT_FOUND, "the files of the process are not at hand");
    if (length == 0 || length >= sizeof name || path[0] != '/' || memchr(path, '\0', length))
        return err_set(err, ERR_INVALID, "not the absolute path of a file");
    memcpy(name, path, length);
    name[length] = '\0';
    if (!take(root, &rights))
        return err_set(err, ERR_PERM, "cannot take the rights of the owner of the process");
    enum err_code rc = open_file(root, name, &fd, &status, err);
    give_back(&rights);
    if (rc != ERR_OK)
        return rc;
    *changed_ns_out =
        (uint64_t)status.st_mtim.tv_sec * NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
    rc = status.st_size > SOURCE_MAX_BYTES
             ? err_set(err, ERR_LIMIT, "the source file is larger than %d MiB",
                       SOURCE_MAX_BYTES >> 20)
             : read_all(fd, out, err);
    close(fd);
    return rc;
}
