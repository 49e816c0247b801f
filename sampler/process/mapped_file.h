/*
 * mapped_file - opens a file for reading, only if a process has mapped it.
 *
 * A hostile process chooses what it maps and which file is at a mapping's path.  So the file is first
 * checked through a descriptor that opens nothing (O_PATH): it must be a regular file with the inode
 * and device of the mapping, and not on a file system of the kernel, such as /proc.  Only then is it
 * opened, without waiting for the holder of a lease.  The file is reached through map_files, which
 * is the mapped file whichever file is at its path now.  Where map_files is refused, it is reached as
 * the program of the process, or by its path beneath the process's root, component by component,
 * without following symbolic links.
 *
 * On overlayfs and btrfs the mapping and the file have different devices, so only the inode is
 * compared there.  Therefore do not use what one user's file says for a file of another user.
 *
 * Files on FUSE are refused: the process behind FUSE could block a read for ever.  Files on network
 * file systems are opened, because interpreters are installed there and only the administrator
 * mounts them.  A read of those may block too, so callers must be able to do without an answer.
 *
 * Threads: any; a call may take as long as the file system does.
 */
#ifndef SAMPLER_PROCESS_MAPPED_FILE_H
#define SAMPLER_PROCESS_MAPPED_FILE_H

#include <stdint.h>

#include "sampler/process/maps.h"

enum mapped_file {
    MAPPED_FILE_OPENED,
    MAPPED_FILE_BUSY, /* another process holds a lease on it: retry later */
    MAPPED_FILE_REFUSED
};

/* OPENED: the caller closes *fd_out; otherwise *fd_out is unchanged. */
enum mapped_file mapped_file_open(int pid, const struct mapping *mapping, int *fd_out);
/* Opens the file by its path beneath a directory, with the same checks. */
enum mapped_file mapped_file_open_below(int root_fd, const struct mapping *mapping,
                                        int *fd_out);
/* The program that the process runs; the same checks, except inode and device. */
enum mapped_file mapped_file_open_program(int pid, int *fd_out);
/* The program's inode; 0: unknown. */
uint64_t mapped_file_program_inode(int pid);

#endif /* SAMPLER_PROCESS_MAPPED_FILE_H */
