#define _GNU_SOURCE
#include "sampler/process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/scoped.h"

/* Not in every <linux/magic.h>. */
enum { FUSE_MAGIC = 0x65735546, CONFIGFS = 0x62656570, MQUEUE = 0x19800202 };

/* Reading a file of these file systems runs code of the kernel, or of another process. */
static bool is_kernel_filesystem(long type)
{
    static const unsigned long types[] = {
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
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if ((unsigned long)type == types[i])
            return true;
    return false;
}

/* AT_STATX_DONT_SYNC: a network file system answers from its cache. */
static bool read_statx(int fd, struct statx *out)
{
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, out) == 0;
}

/* mapping NULL: any file. */
static bool may_be_opened(int fd, const struct mapping *mapping)
{
    struct statx st;
    struct statfs fs;
    if (!read_statx(fd, &st) || !S_ISREG(st.stx_mode) ||
        (mapping && st.stx_ino != mapping->inode) || fstatfs(fd, &fs) ||
        is_kernel_filesystem(fs.f_type))
        return false;
    return !mapping || fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
           (st.stx_dev_major == mapping->device_major &&
            st.stx_dev_minor == mapping->device_minor);
}

/* Opens the file that may_be_opened has accepted. */
static enum mapped_file open_again(int path_fd, int *fd_out)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", path_fd);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return errno == EWOULDBLOCK ? MAPPED_FILE_BUSY : MAPPED_FILE_REFUSED;
    *fd_out = fd;
    return MAPPED_FILE_OPENED;
}

static enum mapped_file open_link(const char *link, const struct mapping *mapping, int *fd_out)
{
    SCOPED_FD int path_fd = open(link, O_PATH | O_CLOEXEC);
    return path_fd >= 0 && may_be_opened(path_fd, mapping) ? open_again(path_fd, fd_out)
                                                           : MAPPED_FILE_REFUSED;
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

/* The kernel writes the path of a mapping without symbolic links.  So a path that holds one now leads
 * to another file. */
static int find_below(int root_fd, const char *path)
{
    int at = openat(root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (path += strspn(path, "/"); at >= 0 && *path; path += strspn(path, "/")) {
        const size_t length = strcspn(path, "/");
        const int next = step_down(at, path, length);
        close(at);
        at = next;
        path += length;
    }
    return at;
}

enum mapped_file mapped_file_open_below(int root_fd, const struct mapping *mapping, int *fd_out)
{
    if (*mapping->path != '/')
        return MAPPED_FILE_REFUSED;
    SCOPED_FD int path_fd = find_below(root_fd, mapping->path);
    return path_fd >= 0 && may_be_opened(path_fd, mapping) ? open_again(path_fd, fd_out)
                                                           : MAPPED_FILE_REFUSED;
}

enum mapped_file mapped_file_open(int pid, const struct mapping *mapping, int *fd_out)
{
    char link[80];
    snprintf(link, sizeof link, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
             mapping->end);
    enum mapped_file found = open_link(link, mapping, fd_out);
    if (found != MAPPED_FILE_REFUSED)
        return found;
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    found = open_link(link, mapping, fd_out);
    if (found != MAPPED_FILE_REFUSED)
        return found;
    snprintf(link, sizeof link, "/proc/%d/root", pid);
    SCOPED_FD int root_fd = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root_fd >= 0 ? mapped_file_open_below(root_fd, mapping, fd_out) : found;
}

enum mapped_file mapped_file_open_program(int pid, int *fd_out)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    return open_link(link, NULL, fd_out);
}

uint64_t mapped_file_program_inode(int pid)
{
    char link[32];
    struct statx st;
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    SCOPED_FD int path_fd = open(link, O_PATH | O_CLOEXEC);
    return path_fd >= 0 && read_statx(path_fd, &st) ? st.stx_ino : 0;
}
