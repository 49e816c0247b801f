/*
 * mapped_file - opens a file that a process has mapped, and nothing else, for reading.
 *
 * A process chooses what it maps and what lies at the path of it.  So a file is looked at through a
 * descriptor that opens nothing (O_PATH) first: it must be a regular file, with the inode and the
 * device of the mapping, of no file system of the kernel's own.  Only then it is opened, without
 * waiting for who holds a lease on it.  It is reached through map_files, which is the mapped file
 * itself whatever lies at its path now; where that is refused, as the program of the process, or by
 * its path beneath the process's root, component by component, no symbolic link followed.
 *
 * On overlayfs and btrfs the mapping has another device than the file; there the inode alone is
 * compared.  So what is learned about a file says nothing about those of another user.
 *
 * Files of FUSE are not opened: reading one takes the good will of another process, for ever.  Those
 * of network file systems are, as interpreters lie there and only the administrator mounts them:
 * callers must be able to go without an answer.
 *
 * Threads: any; a call may take as long as the file system does.
 * Depends on: maps.
 */
#ifndef SAMPLER_PROCESS_MAPPED_FILE_H
#define SAMPLER_PROCESS_MAPPED_FILE_H

#include <stdint.h>

#include "sampler/process/maps.h"

enum mapped_file {
    MAPPED_FILE_OPENED,
    MAPPED_FILE_BUSY, /* somebody holds a lease on it: later */
    MAPPED_FILE_REFUSED
};

/* OPENED: *fd_out is the caller's, to be closed; otherwise it is untouched. */
enum mapped_file mapped_file_open(int pid, const struct mapping *mapping, int *fd_out);
/* The same by its path beneath a directory: how it is done where map_files is refused. */
enum mapped_file mapped_file_open_below(int root_fd, const struct mapping *mapping,
                                        int *fd_out);
/* The program that the process runs, with the same care. */
enum mapped_file mapped_file_open_program(int pid, int *fd_out);
/* Its inode; 0: it cannot be told. */
uint64_t mapped_file_program_inode(int pid);

#endif /* SAMPLER_PROCESS_MAPPED_FILE_H */
