#define _GNU_SOURCE
#include "sampler/process/file_below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

/* Not in every <linux/magic.h>. */
enum { FUSE_MAGIC = 0x65735546, CONFIGFS = 0x62656570, MQUEUE = 0x19800202 };

bool file_below_status(int fd, struct statx *out)
{
    return syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
                   STATX_TYPE | STATX_INO, out) == 0;
}

bool file_below_is_stored(const struct statfs *fs)
{
    static const unsigned long others[] = {
        PROC_SUPER_MAGIC,
        SYSFS_MAGIC,
        DEBUGFS_MAGIC,
        TRACEFS_MAGIC,
        CGROUP_SUPER_MAGIC,
        SECURITYFS_MAGIC,
        CGROUP2_SUPER_MAGIC,
        BPF_FS_MAGIC,
        PSTOREFS_MAGIC,
        EFIVARFS_MAGIC,
        BINFMTFS_MAGIC,
        SELINUX_MAGIC,
        SMACK_MAGIC,
        AUTOFS_SUPER_MAGIC,
        PIPEFS_MAGIC,
        SOCKFS_MAGIC,
        ANON_INODE_FS_MAGIC,
        NSFS_MAGIC,
        DEVPTS_SUPER_MAGIC,
        USBDEVICE_SUPER_MAGIC,
        FUSE_MAGIC,
        CONFIGFS,
        MQUEUE,
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((unsigned long)fs->f_type == others[i])
            return false;
    return true;
}

enum file_below file_below_open_again(int path_fd, int *fd_out)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == EWOULDBLOCK ? FILE_BELOW_BUSY : FILE_BELOW_REFUSED;
    *fd_out = fd;
    return FILE_BELOW_OPENED;
}

/* Opens one component of a path; a symbolic link is not followed. */
static int step_down(int at, const char *name, size_t length)
{
    char component[NAME_MAX + 1];
    if (length > NAME_MAX || (length == 2 && memcmp(name, "..", 2) == 0)) {
        errno = ENOENT;
        return -1;
    }
    memcpy(component, name, length);
    component[length] = '\0';
    return openat(at, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static int open_root(int root_fd)
{
    return openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int file_below_find(int root_fd, const char *path)
{
    int at = open_root(root_fd);
    for (path += strspn(path, "/"); at >= 0 && *path; path += strspn(path, "/")) {
        const size_t length = strcspn(path, "/");
        const int next = step_down(at, path, length);
        close(at);
        at = next;
        path += length;
    }
    return at;
}

/* Appends "/" and the first `length` bytes of `more`, which must not be longer than NAME_MAX. */
static bool append_part(char path[PATH_MAX], const char *more, size_t length)
{
    const size_t used = strlen(path);
    if (used + length + 2 > PATH_MAX)
        return false;
    path[used] = '/';
    memcpy(path + used + 1, more, length);
    path[used + 1 + length] = '\0';
    return true;
}

/* wanted: S_IROTH or S_IXOTH.  What a group may is not known to be what the user may. */
static bool may_user(uid_t user, const struct statx *st, unsigned wanted)
{
    const unsigned for_all = wanted | wanted << 3;
    return user == 0 || (st->stx_uid == user ? (st->stx_mode & wanted << 6) != 0
                                             : (st->stx_mode & for_all) == for_all);
}

/* Adds the first component of `path` to `done`, or follows it if it is a link; *at is `done`. */
static bool advance_path(int root_fd, uid_t user, int *at, char done[PATH_MAX],
                         char path[PATH_MAX], int *turns)
{
    struct statx st;
    const size_t skip = strspn(path, "/"), length = strcspn(path + skip, "/");
    char name[NAME_MAX + 1];
    if (length > NAME_MAX)
        return false;
    memcpy(name, path + skip, length);
    name[length] = '\0';
    memmove(path, path + skip + length, strlen(path + skip + length) + 1);
    if (!*name || strcmp(name, ".") == 0)
        return true;
    if (!file_below_status(*at, &st) || !may_user(user, &st, S_IXOTH))
        return false;
    const bool is_up = strcmp(name, "..") == 0;
    if (is_up) {
        /* The last component goes. */
        char *const slash = strrchr(done, '/');
        if (slash)
            *slash = '\0';
    }
    SCOPED_FD int next = is_up ? file_below_find(root_fd, done) : step_down(*at, name, length);
    if (next < 0 || !file_below_status(next, &st))
        return false;
    const bool is_link = S_ISLNK(st.stx_mode);
    *turns += is_link || is_up;
    if (*turns > FILE_BELOW_MAX_TURNS)
        return false;
    if (is_link) {
        /* `path` is what `done` does not hold yet: both become the path that the link leads to. */
        char target[PATH_MAX], rest[PATH_MAX];
        const ssize_t n = readlinkat(next, "", target, sizeof target - 1);
        if (n <= 0)
            return false;
        target[n] = '\0';
        memcpy(rest, path, strlen(path) + 1);
        if (*target == '/')
            *done = '\0';
        if (snprintf(path, PATH_MAX, "%s/%s", target, rest) >= PATH_MAX)
            return false;

        close(next);
        next = file_below_find(root_fd, done);
    } else if (!is_up && !append_part(done, name, length)) {
        return false;
    }
    close(*at);
    *at = scoped_take_fd(&next);
    return *at >= 0;
}

/* The path in `done` has no links, so removing its last component leads to the directory
 * above. */
static int find_through_links(int root_fd, const char *path, uid_t user)
{
    char done[PATH_MAX] = "", left[PATH_MAX];
    int at = open_root(root_fd), turns = 0;
    bool found = at >= 0 && snprintf(left, sizeof left, "%s", path) < PATH_MAX;
    while (found && left[strspn(left, "/")])
        found = advance_path(root_fd, user, &at, done, left, &turns);
    if (found)
        return at;
    if (at >= 0)
        close(at);
    return -1;
}

static enum file_below open_found(int found_fd, uid_t user, int *fd_out)
{
    struct statx st;
    struct statfs fs;
    SCOPED_FD int path_fd = found_fd;
    if (path_fd < 0 || !file_below_status(path_fd, &st) || !S_ISREG(st.stx_mode) ||
        !may_user(user, &st, S_IROTH) || fstatfs(path_fd, &fs) || !file_below_is_stored(&fs))
        return FILE_BELOW_REFUSED;
    return file_below_open_again(path_fd, fd_out);
}

enum file_below file_below_open(int root_fd, const char *path, uid_t user, int *fd_out)
{
    return open_found(find_through_links(root_fd, path, user), user, fd_out);
}

enum file_below file_below_open_plain(int root_fd, const char *path, int *fd_out)
{
    return open_found(file_below_find(root_fd, path), 0, fd_out);
}
