#define _GNU_SOURCE
#include "sampler/process/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sampler/base/scoped.h"
#include "sampler/process/file_below.h"
#include "sampler/process/stored_process.h"

/* mapping NULL: any file. */
static bool may_be_opened(int fd, const struct mapping *mapping)
{
    struct statx st;
    struct statfs fs;
    if (!file_below_status(fd, &st) || !S_ISREG(st.stx_mode) ||
        (mapping && st.stx_ino != mapping->inode) || fstatfs(fd, &fs) ||
        !file_below_is_stored(&fs))
        return false;
    return !mapping || fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
           (st.stx_dev_major == mapping->device_major &&
            st.stx_dev_minor == mapping->device_minor);
}

/* Opens the file that may_be_opened has accepted. */
static enum mapped_file open_again(int path_fd, int *fd_out)
{
    switch (file_below_open_again(path_fd, fd_out)) {
    case FILE_BELOW_OPENED: return MAPPED_FILE_OPENED;
    case FILE_BELOW_BUSY: return MAPPED_FILE_BUSY;
    case FILE_BELOW_REFUSED: break;
    }
    return MAPPED_FILE_REFUSED;
}

static enum mapped_file open_link(const char *link, const struct mapping *mapping, int *fd_out)
{
    SCOPED_FD int path_fd = open(link, O_PATH | O_CLOEXEC);
    return path_fd >= 0 && may_be_opened(path_fd, mapping) ? open_again(path_fd, fd_out)
                                                           : MAPPED_FILE_REFUSED;
}

enum mapped_file mapped_file_open_below(int root_fd, const struct mapping *mapping, int *fd_out)
{
    if (*mapping->path != '/')
        return MAPPED_FILE_REFUSED;
    /* The kernel writes the path of a mapping without symbolic links.  So a path that holds one now
     * leads to another file. */
    SCOPED_FD int path_fd = file_below_find(root_fd, mapping->path);
    return path_fd >= 0 && may_be_opened(path_fd, mapping) ? open_again(path_fd, fd_out)
                                                           : MAPPED_FILE_REFUSED;
}

enum mapped_file mapped_file_open(int pid, const struct mapping *mapping, int *fd_out)
{
    struct stored_process *const stored = stored_process_find(pid);
    char link[80];
    if (stored) {
        const int fd = stored->open_mapped(stored, mapping);
        *fd_out = fd < 0 ? *fd_out : fd;
        return fd < 0 ? MAPPED_FILE_REFUSED : MAPPED_FILE_OPENED;
    }
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
    const struct stored_process *const stored = stored_process_find(pid);
    char link[32];
    struct statx st;
    if (stored)
        return stored->program_inode;
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    SCOPED_FD int path_fd = open(link, O_PATH | O_CLOEXEC);
    return path_fd >= 0 && file_below_status(path_fd, &st) ? st.stx_ino : 0;
}
