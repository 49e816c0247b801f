#define _GNU_SOURCE
#include "sampler/base/trusted_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

static enum err_code refuse_path(int sys, struct err *err)
{
    const enum err_code rc = err_set(err, err_code_of_errno(sys), "%s", strerror(sys));
    if (err)
        err->sys = sys;
    return rc;
}

static enum err_code distrust_path(const char *reason, struct err *err)
{
    (void)err_set(err, ERR_PERM, "%s", reason);
    if (err)
        err->sys = EPERM;
    return ERR_PERM;
}

/* A process that root started counts as root's also once it has become another user: it may have kept the right to
 * read everything. */
static bool is_of_root(void)
{
    return getauxval(AT_EUID) == 0;
}

/* A path that is being followed: the rest of it, and the folder that the rest begins in. */
struct walk {
    int at;
    unsigned links;
    char left[PATH_MAX], name[NAME_MAX + 1];
    bool is_last; /* nothing is behind `name` */
};

static enum err_code begin_path(struct walk *walk, const char *path, struct err *err)
{
    const int top =
        openat(AT_FDCWD, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return refuse_path(errno, err);
    if (walk->at >= 0)
        close(walk->at);
    walk->at = top;
    return ERR_OK;
}

/* Moves the next component from `left` to `name`; "." where there is none. */
static enum err_code take_name(struct walk *walk, struct err *err)
{
    const char *const begin = walk->left + strspn(walk->left, "/");
    const size_t length = strcspn(begin, "/");
    if (length > NAME_MAX)
        return refuse_path(ENAMETOOLONG, err);
    memcpy(walk->name, begin, length);
    memcpy(walk->name + length, length ? "" : ".", length ? 1 : 2);
    const char *const rest = begin + length + strspn(begin + length, "/");
    walk->is_last = !*rest;
    memmove(walk->left, rest, strlen(rest) + 1);
    return ERR_OK;
}

/* Some links of /proc have no path: they lead to what a process has open. */
static bool is_of_proc(int fd)
{
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* Takes one component.  *is_done: `name` is the last one, and no link to follow. */
static enum err_code step_into(struct walk *walk, struct trusted_path *out, bool *is_done,
                               struct err *err)
{
    struct stat status;
    enum err_code rc = take_name(walk, err);
    if (rc)
        return rc;
    SCOPED_FD int here = openat(walk->at, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    *is_done = walk->is_last && here < 0 && errno == ENOENT;
    if (*is_done)
        return ERR_OK;
    if (here < 0 || fstat(here, &status) != 0)
        return refuse_path(errno, err);
    if (S_ISLNK(status.st_mode)) {
        const bool is_own = is_of_proc(here) && status.st_uid == geteuid();
        if (is_of_root() && status.st_uid != 0 && !is_own)
            return distrust_path(
                "it leads through a symbolic link of another user: name what the "
                "link leads to",
                err);
        if (++walk->links > TRUSTED_PATH_MAX_LINKS)
            return refuse_path(ELOOP, err);
        if (!is_of_proc(here)) {
            /* The target of the link comes before the rest of the path. */
            const int link_fd = here;
            char target[PATH_MAX], left[PATH_MAX];
            const ssize_t length = readlinkat(link_fd, "", target, sizeof target - 1);
            if (length <= 0)
                return refuse_path(length < 0 ? errno : ENOENT, err);
            target[length] = '\0';
            if (snprintf(left, sizeof left, "%s/%s", target, walk->left) >= (int)sizeof left)
                return refuse_path(ENAMETOOLONG, err);
            memcpy(walk->left, left, strlen(left) + 1);
            return *target == '/' ? begin_path(walk, target, err) : ERR_OK;
        }
        out->is_opened = walk->is_last;
    }
    *is_done = walk->is_last;

    if (walk->is_last)
        return ERR_OK;

    const int flags = S_ISLNK(status.st_mode) ? 0 : O_NOFOLLOW;
    const int next = openat(walk->at, walk->name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);
    if (next < 0)
        return refuse_path(errno, err);
    close(walk->at);
    walk->at = next;
    return ERR_OK;
}

enum err_code trusted_path_find(const char *path, struct trusted_path *out, struct err *err)
{
    struct walk walk = { .at = -1 };
    bool is_done = false;
    *out = (struct trusted_path){ .folder_fd = -1 };
    if (!*path)
        return refuse_path(ENOENT, err);
    if (strlen(path) >= sizeof walk.left)
        return refuse_path(ENAMETOOLONG, err);
    memcpy(walk.left, path, strlen(path) + 1);
    enum err_code rc = begin_path(&walk, path, err);
    while (!rc && !is_done)
        rc = step_into(&walk, out, &is_done, err);
    if (!rc) {
        memcpy(out->name, walk.name, sizeof out->name);
        out->folder_fd = walk.at;
    } else if (walk.at >= 0) {
        close(walk.at);
    }
    return rc;
}

enum err_code trusted_path_check(const struct trusted_path *at, int fd, struct err *err)
{
    struct stat folder, file;
    if (!is_of_root())
        return ERR_OK;
    if (fstat(at->folder_fd, &folder) != 0 || fstat(fd, &file) != 0)
        return refuse_path(errno, err);
    if (folder.st_uid == 0 && !(folder.st_mode & (S_IWGRP | S_IWOTH)))
        return ERR_OK;
    if (file.st_uid != 0 && !(S_ISREG(file.st_mode) && file.st_uid == folder.st_uid))
        return distrust_path("it belongs to another user: name a new file", err);
    if (S_ISREG(file.st_mode) && file.st_nlink > 1)
        return distrust_path("it has another name, as a hard link: name a new file", err);
    return ERR_OK;
}

enum err_code trusted_path_open_at(const struct trusted_path *at, int flags, mode_t mode,
                                   int *fd_out, struct err *err)
{
    *fd_out = -1;
    if (is_of_root() && !at->is_opened && (flags & O_ACCMODE) != O_RDONLY) {
        /* The file is checked before it is opened, because opening a pipe waits and opening a device may do something. */
        char again[32];
        SCOPED_FD int here = openat(at->folder_fd, at->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (here < 0 && (errno != ENOENT || !(flags & O_CREAT)))
            return refuse_path(errno, err);
        if (here >= 0 && flags & O_EXCL)
            return refuse_path(EEXIST, err);
        if (here < 0) {
            *fd_out = openat(at->folder_fd, at->name, flags | O_EXCL | O_CLOEXEC, mode);
            return *fd_out < 0 ? refuse_path(errno, err) : ERR_OK;
        }
        const enum err_code rc = trusted_path_check(at, here, err);
        if (rc)
            return rc;
        snprintf(again, sizeof again, "/proc/self/fd/%d", here);
        *fd_out = open(again, (flags & ~O_CREAT) | O_CLOEXEC);
        return *fd_out < 0 ? refuse_path(errno, err) : ERR_OK;
    }
    const int no_follow = at->is_opened ? 0 : O_NOFOLLOW;
    *fd_out = openat(at->folder_fd, at->name, flags | no_follow | O_CLOEXEC, mode);
    return *fd_out < 0 ? refuse_path(errno, err) : ERR_OK;
}

enum err_code trusted_path_open(const char *path, int flags, mode_t mode, int *fd_out,
                                struct err *err)
{
    struct trusted_path at;
    enum err_code rc = trusted_path_find(path, &at, err);
    if (rc)
        return rc;
    rc = trusted_path_open_at(&at, flags, mode, fd_out, err);
    close(at.folder_fd);
    return rc;
}

enum err_code trusted_path_make_folder(const char *path, mode_t mode, struct err *err)
{
    struct trusted_path at;
    enum err_code rc = trusted_path_find(path, &at, err);
    if (rc)
        return rc;
    if (mkdirat(at.folder_fd, at.name, mode) != 0)
        rc = refuse_path(errno, err);
    close(at.folder_fd);
    return rc;
}
