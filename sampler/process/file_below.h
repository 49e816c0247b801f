/*
 * file_below - opens a regular file by its path beneath a directory, such as the root of a process.
 *
 * A hostile process chooses what is at a path.  So the file is first checked through a descriptor that
 * opens nothing (O_PATH): it must be a regular file, and not on a file system of the kernel, such as
 * /proc, nor on FUSE, where a process could block a read for ever.  Only then is it opened, without
 * waiting for the holder of a lease.  Paths are walked component by component; symbolic links are
 * followed as if the directory were the root of the file system.
 *
 * We may be root, and the path somebody else's.  So file_below_open takes a user, and opens only what that user could
 * read: what everyone may read, and what the user owns, in directories that are so too.  Groups and access control
 * lists are not asked.
 *
 * Ownership: descriptors are the caller's.
 * Threads: any; a call may take as long as the file system does.
 * Limits: FILE_BELOW_MAX_TURNS symbolic links and `..`, PATH_MAX bytes of path; then it is refused.
 */
#ifndef SAMPLER_PROCESS_FILE_BELOW_H
#define SAMPLER_PROCESS_FILE_BELOW_H

#include <stdbool.h>
#include <sys/statfs.h>
#include <sys/types.h>

struct statx;

enum { FILE_BELOW_MAX_TURNS = 40 };

enum file_below {
    FILE_BELOW_OPENED,
    FILE_BELOW_BUSY, /* another process holds a lease on it: retry later */
    FILE_BELOW_REFUSED
};

/* user: whose rights limit ours; 0: ours alone count.
 * OPENED: the caller closes *fd_out; otherwise *fd_out is unchanged. */
enum file_below file_below_open(int root_fd, const char *path, uid_t user, int *fd_out);
/* With our rights alone; refuses a path with symbolic links or "..". */
enum file_below file_below_open_plain(int root_fd, const char *path, int *fd_out);

/* The parts of it, for callers that check more. */

/* Fills STATX_TYPE, STATX_INO and the device as the kernel knows them without asking anyone: a network file system answers
 * from its cache, so a dead server does not block the caller.  fd may be O_PATH.  It makes the system call itself, because
 * not every C library has a function for it. */
bool file_below_status(int fd, struct statx *out);
/* An O_PATH descriptor; -1: there is no such file, or a component of the path is a symbolic link. */
int file_below_find(int root_fd, const char *path);
/* Is a file on this file system read without running code of the kernel or of another process? */
bool file_below_is_stored(const struct statfs *fs);
/* Opens a file that has been checked through its O_PATH descriptor. */
enum file_below file_below_open_again(int path_fd, int *fd_out);

#endif /* SAMPLER_PROCESS_FILE_BELOW_H */
